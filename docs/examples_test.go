package docs

import (
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"layover/config"
	"layover/delay"
)

// example is a control header with a value, in prose, a command or a program.
var example = regexp.MustCompile("(x-delay|x-deliver-at)(?:=|: |\": \"|\", \"|\", b\")([0-9P+-][^\\s\"'`,;)\\]}]*)")

// An example that Layover refuses by default would be the first thing that a newcomer sees.
func TestEveryHeaderThatADocumentShowsIsTakenByDefault(t *testing.T) {
	files, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	settings := []string{"KAFKA_BROKERS=b:1", "LAYOVER_INGRESS_TOPICS=delayed", "LAYOVER_EGRESS_TOPIC=ready", "LAYOVER_DLQ_TOPIC=dead-letters"}
	cfg, _, err := config.Load(settings)
	if err != nil {
		t.Fatal(err)
	}
	rules, err := cfg.Rules("delayed")
	if err != nil {
		t.Fatal(err)
	}
	now, found := time.Now().UnixMilli(), 0
	for _, file := range append(files, "../README.md") {
		for _, m := range example.FindAllStringSubmatch(read(t, file), -1) {
			found++
			headers := []kgo.RecordHeader{{Key: m[1], Value: []byte(m[2])}}
			if d, invalid := rules.Parse(&kgo.Record{Headers: headers, Timestamp: time.UnixMilli(now)}, now); invalid != nil || m[1] == delay.HeaderDeliverAt && d.PastDue {
				t.Errorf("%s: %s: %v, decision %+v", file, m[0], invalid, d)
			}
		}
	}
	if found < 15 {
		t.Errorf("%d examples found: the test looks for another form than the documents have", found)
	}
}
