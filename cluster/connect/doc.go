// Package connect connects Kafka clients: TLS with certificates that are read again
// when their files change, the login, and pauses between attempts that are refused.
//
//	config.Kafka ─► Connection ─┬─ Options  for every client of the process
//	                            ├─ Waiting  for the group member behind these
//	                            ├─ Run      looks at the files of certificates
//	                            ├─ Status   for /status and metrics
//	                            └─ Explain  the setting to look at, for an error
//
// A refusal is an answer that says no: a certificate, a password or a token that is not
// taken. A broker that does not answer at all is none. Of a refusal the log says one line
// in 30 s. The next attempt at that broker waits, from 1 s up to 30 s, as accounts get
// locked. Other brokers are tried meanwhile: one may be wrong where others are right.
//
// Secrets and certificates are read at the moment of use. Neither a value nor the text
// of a file is part of any error.
package connect
