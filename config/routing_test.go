package config

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func TestTheHeaderRulesHaveTheDefaultExpiry(t *testing.T) {
	environ := minimal("LAYOVER_EXPIRE_AFTER=90m")
	rules, err := mustLoad(t, environ).Rules("delayed")
	if err != nil {
		t.Fatal(err)
	}
	routing, err := LoadRouting(environ)
	if err != nil {
		t.Fatal(err)
	}
	ofSend, err := routing.Rules("delayed", "")
	if err != nil {
		t.Fatal(err)
	}
	if want := 90 * time.Minute; rules.ExpireAfter != want || ofSend.ExpireAfter != want {
		t.Errorf("expire after %v, those of send after %v, want %v", rules.ExpireAfter, ofSend.ExpireAfter, want)
	}
}

// A producer that could write events could make consumers of them believe anything.
func TestAGlobLeavesTheEventsTopicOut(t *testing.T) {
	rules, err := mustLoad(t, minimal("LAYOVER_TARGETS_ALLOWED=*", "LAYOVER_EVENTS_TOPIC=layover-events")).Rules("delayed")
	if err != nil {
		t.Fatal(err)
	}
	for target, allowed := range map[string]bool{"layover-events": false, "dead-letters": false, "layover-event": true} {
		d, invalid := rules.Parse(&kgo.Record{Headers: []kgo.RecordHeader{{Key: "x-deliver-to", Value: []byte(target)}}}, 1)
		if (invalid == nil) != allowed || allowed && d.Target != target {
			t.Errorf("%s: %+v, %v, want allowed: %v", target, d, invalid, allowed)
		}
	}
}
