package admin

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"layover/purgatory"
)

// starting is a process whose group has been joined and which is reading.
func starting(now time.Time) Sample {
	return Sample{
		Started: now.Add(-time.Minute), Kafka: Kafka{Answering: true, Since: now.Add(-30 * time.Second)},
		Group: Group{ID: "layover-orders", Joined: true, LeaseValid: true, Partitions: []Assignment{
			{Topic: "orders", Partition: 3, Loaded: true, Next: 7}, {Topic: "orders", Partition: 4},
		}},
		Lanes: []*purgatory.Snapshot{{Partitions: []purgatory.PartitionView{
			partition("orders", 3, purgatory.PartitionView{Next: 5, StableEnd: 100}),
		}}},
	}
}

func silentFor(d time.Duration) func(*Sample, time.Time) {
	return func(s *Sample, now time.Time) {
		s.Kafka = Kafka{Since: now.Add(-d), Err: "connection refused"}
	}
}

// readyCase is a change to starting, and what /readyz then says.
type readyCase struct {
	change func(*Sample, time.Time)
	body   string
}

// TestOnceReadyAlwaysReady, and what is sick is named, the most severe first.
func TestOnceReadyAlwaysReady(t *testing.T) {
	caughtUp := func(change func(*Sample, time.Time)) func(*Sample, time.Time) {
		return func(s *Sample, now time.Time) {
			s.CaughtUp = true
			change(s, now)
		}
	}
	cases := make(map[string]readyCase)
	for name, c := range map[string]readyCase{
		"all is well":      {func(*Sample, time.Time) {}, "ready"},
		"nothing assigned": {func(s *Sample, _ time.Time) { s.Group.Partitions, s.Lanes = nil, nil }, "ready"},
		"reading is paused by the memory bound": {
			func(s *Sample, _ time.Time) { s.Pauses = []Pause{{Reason: PauseBytes}} },
			"ready: reading is paused: bytes"},
		"reading is paused by targets": {
			func(s *Sample, _ time.Time) {
				s.Settings.DeadLetter = "dead"
				s.Pauses = []Pause{{Reason: PauseDeadLetter, Target: "dead"}, {Reason: PauseTarget, Target: "out"}}
			}, "degraded: dead-letter topic dead is unreachable; target out is unreachable; reading is paused: dead_letter (dead), target (out)"},
		"a pause hides nothing": {
			func(s *Sample, now time.Time) {
				s.Pauses, s.Kafka.Topics = []Pause{{Reason: PauseBytes}}, []TopicState{{Name: "out", State: "missing", Since: now.Add(-time.Second)}}
			}, "degraded: target out is missing since 1999-12-31T23:59:59Z; reading is paused: bytes"},
		"partitions are not read any more": {
			func(s *Sample, _ time.Time) {
				for i := range s.Group.Partitions {
					s.Group.Partitions[i].Stopped, s.Group.Partitions[i].Reason = "corrupt", "unreadable"
				}
			}, "degraded: partition orders/3 is not read at offset 7 (unreadable); partition orders/4 is not read (unreadable)"},
		"more than it names": {
			func(s *Sample, _ time.Time) {
				for p := range int32(5) {
					s.Group.Partitions = append(s.Group.Partitions, Assignment{Topic: "a", Partition: p, Stopped: "x", Reason: "not_begun"})
				}
			}, "degraded: partition a/0 is not read (not_begun); partition a/1 is not read (not_begun); partition a/2 is not read (not_begun) (and 2 more)"},
		"Kafka is gone, and with it the partitions for which reading was paused": {func(s *Sample, now time.Time) {
			silentFor(time.Second)(s, now)
			s.Pauses, s.Group.Partitions, s.Lanes = []Pause{{Reason: PauseBytes}}, nil, nil
		}, "degraded: Kafka has not answered for 1 s: connection refused"},
		"Kafka does not say which topics there are": {func(s *Sample, now time.Time) {
			silentFor(time.Second)(s, now)
			s.Kafka.OthersAnswer = true
		}, "degraded: Kafka has not said for 1 s which topics there are: connection refused"},
		"Kafka goes down": {silentFor(time.Second), "degraded: Kafka has not answered for 1 s: connection refused"},
		"Kafka never answered": {
			func(s *Sample, now time.Time) { s.Started, s.Kafka = now.Add(-10*time.Second), Kafka{} },
			"degraded: Kafka has not answered for 10 s"},
		"paused and Kafka goes down": {
			func(s *Sample, now time.Time) {
				s.Pauses = []Pause{{Reason: PauseBytes}}
				silentFor(time.Second)(s, now)
			},
			"degraded: Kafka has not answered for 1 s: connection refused; reading is paused: bytes"},
		"the group is left": {
			func(s *Sample, _ time.Time) { s.Group.Joined = false }, "degraded: group layover-orders is not joined"},
		"every ingress topic is gone, and so nothing is joined": {
			func(s *Sample, now time.Time) {
				s.Group.Joined, s.Settings.Ingress, s.Kafka.Unusable = false, []string{"orders"}, []string{"orders"}
				s.Kafka.Topics = []TopicState{{Name: "orders", State: "forbidden", Since: now.Add(-48 * time.Hour)}}
			}, "degraded: ingress topic orders is forbidden since 1999-12-30T00:00:00Z"},
	} {
		cases[name] = readyCase{caughtUp(c.change), c.body}
	}
	checkReady(t, http.StatusOK, "layover_ready 1", cases)
}

func TestNotReadyWhile(t *testing.T) {
	checkReady(t, http.StatusServiceUnavailable, "layover_ready 0", map[string]readyCase{
		"Kafka is down for less": {silentFor(10*time.Second - 1), "not ready: Kafka has not answered for 9 s: connection refused"},
		"Kafka never answered, for less": {
			func(s *Sample, now time.Time) { s.Started, s.Kafka = now.Add(-9*time.Second), Kafka{} },
			"not ready: Kafka has not answered for 9 s"},
		"Kafka is down for long, and it was not said to be ready": {
			silentFor(time.Hour), "not ready: Kafka has not answered for 3600 s: connection refused"},
		"paused, and it was not said to be ready": {
			func(s *Sample, _ time.Time) { s.Pauses = []Pause{{Reason: PauseBytes}} }, "not ready: reading orders/3: at offset 5 of 100 (and 1 more)"},
		"draining, caught up": {
			func(s *Sample, _ time.Time) { s.Draining, s.CaughtUp = true, true }, "not ready: draining"},
		"draining, paused": {
			func(s *Sample, _ time.Time) { s.Draining, s.Pauses = true, []Pause{{Reason: PauseBytes}} }, "not ready: draining"},
		"draining, Kafka down": {
			func(s *Sample, now time.Time) { s.Draining = true; silentFor(time.Hour)(s, now) }, "not ready: draining"},
		"joining": {
			func(s *Sample, _ time.Time) { s.Group.Joined = false }, "not ready: joining the group layover-orders"},
		"joining fails": {
			func(s *Sample, _ time.Time) {
				s.Group.Joined, s.Group.LastError, s.Kafka.Faults = false, "GROUP_AUTHORIZATION_FAILED", []string{"topic a is missing", "topic b is forbidden"}
			}, "not ready: joining the group layover-orders, topic a is missing, topic b is forbidden: GROUP_AUTHORIZATION_FAILED"},
		"reading": {
			func(*Sample, time.Time) {}, "not ready: reading orders/3: at offset 5 of 100 (and 1 more)"},
		"loading": {
			func(s *Sample, _ time.Time) { s.Group.Partitions, s.Lanes = s.Group.Partitions[1:], nil },
			"not ready: loading the committed offset of orders/4"},
		"loaded, not with a lane yet": {
			func(s *Sample, _ time.Time) { s.Group.Partitions, s.Lanes = s.Group.Partitions[:1], nil },
			"not ready: reading orders/3: at offset 7"},
		"a stopped one is named last": {
			func(s *Sample, _ time.Time) { s.Group.Partitions[0].Stopped = "corrupt" },
			"not ready: loading the committed offset of orders/4"},
		"only stopped ones": {
			func(s *Sample, _ time.Time) {
				s.Group.Partitions = s.Group.Partitions[:1]
				s.Group.Partitions[0].Stopped = "corrupt"
			}, "not ready: reading of orders/3 stopped at offset 7: corrupt"},
		"read, and not said to be so": {
			func(s *Sample, _ time.Time) { s.Group.Partitions, s.Lanes = nil, nil }, "not ready: reading the first assignment"},
	})
}

func checkReady(t *testing.T, code int, metric string, cases map[string]readyCase) {
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := starting(time.Now())
				test.change(&s, time.Now())
				srv := newServer(sourceOf(s))
				if w := get(t, srv, "/readyz"); w.Code != code || w.Body.String() != test.body+"\n" {
					t.Errorf("%d %q, want %d %q", w.Code, w.Body, code, test.body)
				}
				if w := get(t, srv, "/startupz"); w.Code != http.StatusOK {
					t.Errorf("/startupz answers %d", w.Code)
				}
				if body := get(t, srv, "/metrics").Body.String(); !strings.Contains(body, "\n"+metric+"\n") {
					t.Errorf("no %q among the metrics", metric)
				}
			})
		})
	}
}

func TestLiveWhileOwnLoopsMove(t *testing.T) {
	for name, test := range map[string]struct {
		loops map[string]time.Duration // since the last turn
		body  string                   // "" for 200
	}{
		"no loops yet":    {nil, ""},
		"all move":        {map[string]time.Duration{"poll": 0, "lane-0": time.Second}, ""},
		"just below":      {map[string]time.Duration{"poll": time.Minute - 1}, ""},
		"one stands":      {map[string]time.Duration{"poll": 0, "lane-0": time.Minute}, "lane-0 has not moved for 60 s"},
		"two stand":       {map[string]time.Duration{"poll": time.Hour, "lane-0": 2 * time.Minute}, "lane-0 has not moved for 120 s\npoll has not moved for 3600 s"},
		"one never moved": {map[string]time.Duration{"lane-0": -1}, "lane-0 has not moved for 61 s"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				now := time.Now()
				s := Sample{Started: now.Add(-61 * time.Second), Loops: map[string]time.Time{}, Draining: true}
				for loop, ago := range test.loops {
					s.Loops[loop] = now.Add(-ago)
					if ago < 0 {
						s.Loops[loop] = time.Time{}
					}
				}
				code, body := 503, test.body
				if body == "" {
					code, body = 200, "live"
				}
				w := get(t, newServer(sourceOf(s)), "/livez")
				if w.Code != code || w.Body.String() != body+"\n" {
					t.Errorf("%d %q, want %d %q", w.Code, w.Body, code, body)
				}
			})
		})
	}
}
