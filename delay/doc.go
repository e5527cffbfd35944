// Package delay is the codec of Layover's headers. It reads a record's deadline,
// target, id and expiry from its headers, and writes the headers of deliveries, dead
// letters and sent records. The server and the command line use the same code,
// so that each reads the other's headers.
//
// It is pure: no clock, no goroutine, no lock, no Kafka client. The time is an
// argument. It keeps none of its arguments; the strings of a Decision
// come from the Targets, the text of an Invalid is a copy. The ID of a Decision
// is the header's own value.
//
// # What a producer writes
//
// Take a record with the timestamp 12:00:00.000.
//
//	x-delay       1500                       due 12:00:01.500
//	x-delay       1500.0ms                   the same: eight bytes, and text
//	x-delay       1h30m, 1d12h, 1w           Go durations, with d and w
//	x-delay       PT5M, P1DT2H, PT1.5S       ISO 8601
//	x-delay       00 00 00 00 00 00 05 dc    eight bytes, due 12:00:01.500
//	x-delay       100us                      due 12:00:00.001, never early
//	x-delay       0, -5s                     at once (Decision.Immediate)
//	x-delay       1s..1h x2                  a back-off: due by its attempt
//	x-delay       auto                       the back-off of a setting
//	x-deliver-at  2026-03-01T14:00:00+01:00  due at that instant
//	x-deliver-at  1772370000000              the same, in Unix milliseconds
//	x-deliver-at  01 9c a9 7b f8 80          the same, in six bytes
//	x-deliver-at  1772370000                 invalid: looks like seconds
//	x-deliver-at  2026-03-01T14:00:00        invalid: which zone?
//	x-deliver-to  orders                     that topic, if it is allowed
//	x-delay-id    order-1                    replaces what waits by that name
//	x-expire-at   2026-03-01T14:00:00.0009Z  not handed out from 14:00:00.000 on
//
// A record with x-delay-id and x-delay-cancel: true is a cancel: it ends the record of that
// name, and is never delivered. A cancel has neither delay nor target nor expiry.
//
// Names match without regard to case, and the last of a repeated name wins.
// Where both headers are there, x-deliver-at wins. x-delay is not looked at then,
// even where it is malformed.
//
// A value whose bytes are all printable ASCII (0x20 to 0x7E) is text, any
// other is a big-endian two's complement number. The two never clash. The
// first byte of any plausible instant in six to eight bytes, and of any
// plausible delay in eight, is below 0x20.
//
// # What others write
//
// Names give headers of other products a meaning, each with a declared format. Native headers
// win over them. A record whose key and null value mean what they do to etf1's scheduler has its
// key as its id. Without Names none of that is looked at.
//
// # What is refused
//
// Bad input is invalid, and never guessed: see Reason. In particular
//
//   - null, empty, or padded with spaces; a number that does not fit;
//   - a plus sign before a bare number (Go durations may have one: +5s);
//   - ISO 8601 with anything but the capitals W, D, H, M and S, in that order
//     and each once, with a sign, with years or months, or with a fraction
//     elsewhere than on the seconds (whose decimal sign may be the comma, as
//     ISO 8601 has it);
//   - RFC 3339 with small letters, a space for the T, a leap second, a comma,
//     no zone, or a zone beyond 23:59;
//   - a number in x-deliver-at that is in the wrong unit by its size;
//   - a negative number in binary. As text it is merely past;
//   - an id with a control character of Unicode's class Cc: U+0000 to U+001F and
//     U+007F to U+009F.
//
// Where several things are wrong, the first in order is reported. The order begins with
// the value of x-deliver-at or x-delay, the attempt, the missing timestamp, the maximum.
// The timestamp ahead of the clock, the expiry, the target, the hops, the id follow. Of a
// record with x-delay-cancel the order is that header's value, the missing id, what stands
// beside it, the id.
//
// # Rounding
//
// A deadline is rounded up to a millisecond and an expiry down: no record goes before the
// one, or from the other on.
//
// # What it is not
//
// It does not know whether a topic exists, how invalid records are handled, or
// how large a record may be.
//
// # Sources
//
// RFC 3339 for instants; ISO 8601 section 5.5.2 for durations, as far as they
// have a fixed length; Go's time.ParseDuration. x-delay as an integer of
// milliseconds, where zero and below go at once, is RabbitMQ's delayed message
// exchange. An instant as six to eight big-endian bytes is how spring-kafka
// writes java.math.BigInteger. The names layover.errors.* have the suffixes of
// Kafka's own family of dead-letter headers.
package delay
