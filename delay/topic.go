package delay

// MaxTopicName is Kafka's limit on the name of a topic, in bytes.
const MaxTopicName = 249

// IsTopicName says whether Kafka takes a name for a topic.
func IsTopicName(name string) bool {
	if name == "" || name == "." || name == ".." || len(name) > MaxTopicName {
		return false
	}
	for i := range len(name) {
		if !IsTopicByte(name[i]) {
			return false
		}
	}
	return true
}

// IsTopicByte says whether a byte may be in the name of a topic.
func IsTopicByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '_' || c == '-'
}
