package delay

// NativePreset is the name of Layover's own headers in a list of presets. They are always on.
const NativePreset = "native"

// preset is the headers of another product by one name.
type preset struct {
	name string
	maps []Mapping
	// keyed: the record's key is its id, and a null value cancels. See control.isSchedule.
	keyed bool
}

// headerEpoch is the header that makes a record one of etf1's scheduler.
const headerEpoch = "scheduler-epoch"

// presets are the products whose headers Layover knows. No name is in two of them, or twice
// in one. Sources of names and units:
//
//	spring       org.springframework.kafka.retrytopic.RetryTopicHeaders; the value is
//	             BigInteger.toByteArray, two's complement in as few bytes as it takes
//	etf1         schedule/kafka/schedule.go of etf1/kafka-message-scheduler
//	timebridge   README of martavoi/kafka-timebridge
//	watermill    components/delay of ThreeDotsLabs/watermill: time.RFC3339, Duration.String
//	http         RFC 9110, section 10.2.3
//	amqp         message annotations of brokers that have delayed delivery
//	cloudevents  extension expirytime, in the Kafka binding's binary mode
var presets = []preset{
	{name: "spring", maps: []Mapping{{"retry_topic-backoff-timestamp", FormatBigIntMs}}},
	{name: "etf1", keyed: true, maps: []Mapping{
		{headerEpoch, FormatEpochS}, {"scheduler-target-topic", FormatTarget}, {"scheduler-target-key", FormatKey},
	}},
	{name: "timebridge", maps: []Mapping{{"X-Timebridge-When", FormatRFC3339}, {"X-Timebridge-Where", FormatTarget}}},
	{name: "watermill", maps: []Mapping{{"_watermill_delayed_until", FormatRFC3339}, {"_watermill_delayed_for", FormatDurationText}}},
	{name: "http", maps: []Mapping{{"retry-after", FormatRetryAfter}}},
	{name: "amqp", maps: []Mapping{{"x-opt-delivery-time", FormatEpochMs}, {"x-opt-delivery-delay", FormatMs}}},
	{name: "cloudevents", maps: []Mapping{{"ce_expirytime", FormatExpireAt}}},
}

// Presets returns the names of all presets, NativePreset first. The slice is the caller's.
func Presets() []string {
	names := []string{NativePreset}
	for _, p := range presets {
		names = append(names, p.name)
	}
	return names
}

// PresetMap returns the headers of a preset, false where there is none of that name. That of
// NativePreset is empty. The slice is the caller's.
func PresetMap(name string) ([]Mapping, bool) {
	for _, p := range presets {
		if p.name == name {
			return append([]Mapping(nil), p.maps...), true
		}
	}
	return nil, name == NativePreset
}
