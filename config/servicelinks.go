package config

import "regexp"

// Kubernetes sets these variables in the pods beside a Service, here one called
// kafka-tls with a port called http:
//
//	KAFKA_TLS_SERVICE_HOST       10.0.0.1
//	KAFKA_TLS_SERVICE_PORT       9093
//	KAFKA_TLS_SERVICE_PORT_HTTP  9093
//	KAFKA_TLS_PORT               tcp://10.0.0.1:9093
//	KAFKA_TLS_PORT_9093_TCP      tcp://10.0.0.1:9093, and with _PROTO, _PORT and _ADDR
//
// linkName matches names that nothing else has. A name that only ends in _PORT may
// well be a setting, so there linkValue has to match the value, too.
var (
	linkName  = regexp.MustCompile(`_SERVICE_HOST$|_SERVICE_PORT(_[A-Z0-9_]+)?$|_PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$`)
	linkPort  = regexp.MustCompile(`_PORT$`)
	linkValue = regexp.MustCompile(`^(tcp|udp|sctp)://`)
)

// isServiceLink reports whether a variable is one that Kubernetes sets for a
// Service of any name: nobody meant it for Layover.
func isServiceLink(name, value string) bool {
	return linkName.MatchString(name) || linkPort.MatchString(name) && linkValue.MatchString(value)
}
