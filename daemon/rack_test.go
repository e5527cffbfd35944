package daemon

import (
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestIngressIsFetchedFromTheRackThatIsSet(t *testing.T) {
	for name, settings := range map[string][]string{"none": nil, "zone-b": {"KAFKA_RACK=zone-b"}} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *fixture) {
				var mu sync.Mutex
				racks := make(map[string]int)
				w.Broker.ControlKey(int16(kmsg.Fetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
					w.Broker.KeepControl()
					mu.Lock()
					defer mu.Unlock()
					racks[r.(*kmsg.FetchRequest).Rack]++
					return nil, nil, false
				})
				in := w.start(settings...)
				in.ready()
				w.send(0, "a", header("x-delay", "1s"))
				time.Sleep(2 * time.Second)
				in.stop()
				want := name
				if settings == nil {
					want = ""
				}
				mu.Lock()
				defer mu.Unlock()
				if len(racks) != 1 || racks[want] == 0 {
					t.Errorf("fetches by rack: %v, want all of %q", racks, want)
				}
			})
		})
	}
}
