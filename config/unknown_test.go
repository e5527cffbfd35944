package config

import (
	"slices"
	"strings"
	"testing"
)

func TestAnUnknownNameWarnsWithTheNearestKnownName(t *testing.T) {
	tests := map[string]string{
		"LAYOVER_EGRES_TOPIC":       "LAYOVER_EGRESS_TOPIC",
		"LAYOVER_INGRESS_TOPIC":     "LAYOVER_INGRESS_TOPICS",
		"LAYOVER_EGRESS_TOPICS":     "LAYOVER_EGRESS_TOPIC",
		"LAYOVER_LOGLEVEL":          "LAYOVER_LOG_LEVEL",
		"LAYOVER_LANE":              "LAYOVER_LANES",
		"LAYOVER_MAX_PARKED_BYTE":   "LAYOVER_MAX_PARKED_BYTES",
		"LAYOVER_MAX_PARKED":        "LAYOVER_MAX_PARKED_BYTES",
		"LAYOVER_DQL_TOPIC":         "LAYOVER_DLQ_TOPIC",
		"LAYOVER_BROKERS":           "KAFKA_BROKERS",
		"LAYOVER_GROUP":             "LAYOVER_GROUP_ID",
		"LAYOVER_HTTP_ADDRESS":      "LAYOVER_HTTP_ADDR",
		"LAYOVER_SHUTDOWN_TIMEOUT_": "LAYOVER_SHUTDOWN_TIMEOUT",
	}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			warnings := unknownNames(map[string]string{name: "hunter2"})
			if len(warnings) != 1 || !strings.Contains(warnings[0], name+" ") || !strings.HasSuffix(warnings[0], " "+want) {
				t.Errorf("got %q, want one that names %s and %s", warnings, name, want)
			}
			if strings.Contains(warnings[0], "hunter2") {
				t.Errorf("the value is printed: %s", warnings[0])
			}
		})
	}
}

// The nearest name of a switch is KAFKA_TLS_ENABLED, which would lead the wrong way.
func TestASwitchForTLSOfTheHTTPPortIsAnsweredWithTheCertificateAndTheKey(t *testing.T) {
	for _, name := range []string{"LAYOVER_HTTP_TLS_ENABLED", "LAYOVER_HTTP_TLS", "LAYOVER_HTTPS", "LAYOVER_HTTPS_ENABLED", "LAYOVER_HTTP_SSL_ENABLED", "LAYOVER_HTTP_USE_TLS", "LAYOVER_HTTP_TLS_ENABLED_FILE"} {
		_, warnings, err := load(minimal(name+"=true"), host)
		if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], name+" is ignored: ") || strings.Contains(warnings[0], "KAFKA_") ||
			!strings.Contains(warnings[0], " LAYOVER_HTTP_TLS_CERT and LAYOVER_HTTP_TLS_KEY ") {
			t.Errorf("%s: %q, %v; want one warning that names certificate and key", name, warnings, err)
		}
	}
	for name, nearest := range map[string]string{"LAYOVER_HTTP_TLS_CERTIFICATE": "LAYOVER_HTTP_TLS_CERT", "LAYOVER_HTTPS_ADDR": "LAYOVER_HTTP_ADDR"} {
		if warnings := unknownNames(map[string]string{name: "x"}); len(warnings) != 1 || !strings.HasSuffix(warnings[0], " "+nearest) {
			t.Errorf("%s: %q, want the nearest name", name, warnings)
		}
	}
}

func TestANameThatIsNearNothingWarnsWithoutASuggestion(t *testing.T) {
	for _, name := range []string{"LAYOVER_", "LAYOVER_XYZZY", "LAYOVER_" + strings.Repeat("LANES", 1000)} {
		warnings := unknownNames(map[string]string{name: "1"})
		if len(warnings) != 1 || !strings.Contains(warnings[0], "no known name is near") || len(warnings[0]) > 250 {
			t.Errorf("%s: got %q", name, warnings)
		}
	}
}

func TestWarningsComeAllAtOnceInOrderWithAndWithoutAnError(t *testing.T) {
	environ := []string{"LAYOVER_B=1", "LAYOVER_A=1", "LAYOVER_C\nD=1"}
	_, warnings, err := load(minimal(environ...), host)
	if err != nil {
		t.Errorf("an unknown name is an error: %v", err)
	}
	if len(warnings) != 3 || !slices.IsSorted(warnings[:2]) || strings.Contains(strings.Join(warnings, ""), "\n") {
		t.Errorf("got %q, want three lines in order", warnings)
	}
	_, again, err := load(environ, host)
	if err == nil || !slices.Equal(warnings, again) {
		t.Errorf("beside %v the warnings are %q, want %q", err, again, warnings)
	}
}

func TestNamesThatOthersSetAndEmptyOnesPassSilently(t *testing.T) {
	mustLoad(t, minimal(
		"LAYOVER_TEST_KAFKA_IMAGE=apache/kafka", "LAYOVER_PORT=tcp://10.0.0.1:9846", "LAYOVER_PORT_9846_TCP=x",
		"LAYOVER_SERVICE_HOST=10.0.0.1", "LAYOVER_SERVICE_PORT=9846", "LAYOVER_EGRES_TOPIC=",
		"LAYOVERS=1", "layover_lanes=x", "OTHER=1", "=C:=C:\\", "no equals sign",
	))
	for _, name := range []string{"LAYOVER_PORTS", "LAYOVER_TESTS", "LAYOVER_SERVICES", "LAYOVER_PORT", "LAYOVER_METRICS_PORT"} {
		if len(unknownNames(map[string]string{name: "1"})) != 1 {
			t.Errorf("%s passes silently", name)
		}
	}
}

func TestEditDistance(t *testing.T) {
	tests := []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "abc", 0},
		{"kitten", "sitting", 3}, {"flaw", "lawn", 2}, {"ab", "ba", 2}, {"LANE", "LANES", 1},
	}
	for _, test := range tests {
		if got := editDistance(test.a, test.b); got != test.want {
			t.Errorf("%q to %q is %d, want %d", test.a, test.b, got, test.want)
		}
	}
}

func TestTheNearestNameIsOneThatDiffersInFewLetters(t *testing.T) {
	known := []string{"delayed", "ready", "orders.delayed", "d", "docdlq"}
	for name, want := range map[string]string{
		"delayd": "delayed", "delayed": "delayed", "raedy": "ready", "order.delayed": "orders.delayed", "DocDLQ": "docdlq", "DELAYD": "delayed", "payments": "", "": "", strings.Repeat("x", 249): "",
	} {
		if got := Nearest(name, known); got != want {
			t.Errorf("the nearest to %q is %q, want %q", name, got, want)
		}
	}
}
