package journal

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"layover/cli/process"
)

// TestALetterOfSkipThatIsTooLargeGoesWithoutItsValueAndSaysSo, as that of a member.
func TestALetterOfSkipThatIsTooLargeGoesWithoutItsValueAndSaysSo(t *testing.T) {
	for name, err := range map[string]*kerr.Error{"for the topic": kerr.MessageTooLarge, "for a segment": kerr.RecordListTooLarge} {
		t.Run(name, func(t *testing.T) {
			w := forSkips(t)
			w.Produce(&kgo.Record{Topic: ingress, Key: []byte("k"), Value: []byte("v")})
			w.commit(0, 0, w.epoch, "")
			refused := 0
			w.Refuse(kmsg.Produce, kfake.Fault{Topic: graves, Err: err, When: func(kmsg.Request) bool { refused++; return refused == 1 }})
			if got := w.skip("delayed/0@0 --execute"); got.code != process.ExitOK {
				t.Fatalf("%+v", got)
			}
			r := w.letter()
			w.says(r, map[string]string{
				"topic": ingress, "partition": "0", "offset": "0", "group": group, "reason": "skipped", "value": "dropped",
				"message": "delayed/0@0: left out by an operator with layover skip",
			})
			if string(r.Key) != "k" || r.Value != nil {
				t.Errorf("key %q, value %q", r.Key, r.Value)
			}
		})
	}
}
