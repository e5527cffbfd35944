package config

import (
	"strings"
	"testing"
)

// serviceLinks is what Kubernetes sets for a Service with one port of a name,
// in the words of its documentation.
func serviceLinks(service, port, number, protocol string) []string {
	name := strings.ToUpper(strings.ReplaceAll(service, "-", "_"))
	url := strings.ToLower(protocol) + "://10.0.0.1:" + number
	link := name + "_PORT_" + number + "_" + protocol
	return []string{
		name + "_SERVICE_HOST=10.0.0.1",
		name + "_SERVICE_PORT=" + number,
		name + "_SERVICE_PORT_" + strings.ToUpper(strings.ReplaceAll(port, "-", "_")) + "=" + number,
		name + "_PORT=" + url,
		link + "=" + url,
		link + "_PROTO=" + strings.ToLower(protocol),
		link + "_PORT=" + number,
		link + "_ADDR=10.0.0.1",
	}
}

func TestTheLinksOfServicesPassSilentlyWhateverTheyAreCalled(t *testing.T) {
	for _, service := range []string{"layover", "layover-metrics", "layover-service", "kafka", "kafka-tls", "kafka-sasl", "kafka-tls-external", "kafka-security-protocol"} {
		t.Run(service, func(t *testing.T) {
			for _, protocol := range []string{"TCP", "UDP", "SCTP"} {
				links := serviceLinks(service, "plain-http2", "9093", protocol)
				mustLoad(t, minimal(links...))
				if _, warnings, err := LoadClient(links); err != nil || len(warnings) > 0 {
					t.Errorf("the client: %q, %v", warnings, err)
				}
			}
		})
	}
}

func TestNamesThatAreOnlyLikeLinksAreTakenForWhatTheyAre(t *testing.T) {
	for _, entry := range []string{
		"KAFKA_TLS_PORT=9093", "KAFKA_TLS_PORT=https://10.0.0.1:9093", "KAFKA_TLS_SERVICE=x", "KAFKA_TLS_PORT_X_TCP=tcp://10.0.0.1:1",
		"KAFKA_TLS_PORT_9093_TCP_KEY=x", "KAFKA_TLS_CERTS=tcp://10.0.0.1:9093", "KAFKA_SASL_KERBEROS_SERVICE_NAME=kafka",
	} {
		name, _, _ := strings.Cut(entry, "=")
		wantProblem(t, minimal(entry), name, "is no setting")
	}
	wantProblem(t, minimal("KAFKA_TLS_CA=tcp://10.0.0.1:9093"), "KAFKA_TLS_CA", "neither PEM")
	wantProblem(t, minimal("KAFKA_SASL_PASSWORD=x"), "KAFKA_SASL_MECHANISM", "KAFKA_SASL_PASSWORD is set")
	for _, entry := range []string{"LAYOVER_EGRES_TOPIC=tcp://10.0.0.1:1", "LAYOVER_HTTP_PORT=9846", "LAYOVER_SERVICE_NAME=x", "LAYOVER_PORT_HTTP=9846"} {
		name, _, _ := strings.Cut(entry, "=")
		if _, warnings, err := load(minimal(entry), host); err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], name+" is ignored") {
			t.Errorf("%s: warnings %q, %v, want one", entry, warnings, err)
		}
	}
}
