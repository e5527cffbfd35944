package lane

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"layover/delay"
	"layover/journal/runs"
	"layover/purgatory"
	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestLettersOfCopiesLeaveOthersTheMemory: copies name a target that the settings allow no more, so they are dead
// letters, and the dead-letter topic is away. "Parked records go on": the others' target is well, and memory is free.
func TestLettersOfCopiesLeaveOthersTheMemory(t *testing.T) {
	for _, fails := range []string{"nothing", "graves"} {
		t.Run(fails, func(t *testing.T) {
			const letters, others, process = 330, 5, 64 << 20
			plant := func(s *shelf) {
				s.share, s.process = 3<<20, process
				s.putBoth(letters, others, 10*time.Millisecond, 20*time.Minute, 2)
			}
			edit := func(c *Config) {
				targets, err := delay.NewTargets("ready", nil, []string{"delayed"}, nil)
				if err != nil {
					t.Fatal(err)
				}
				c.Core.HeldShare, c.Core.Patience = process/4, 12*time.Hour
				c.Rules = always(&delay.Rules{MaxDelay: 24 * time.Hour, Targets: targets})
			}
			shelved(t, edit, plant, func(r *rig, s *shelf) {
				r.kafka.set(func(k *kafka) { k.class, k.fails = purgatory.Unavailable, fails })
				time.Sleep(60 * time.Minute)
				if got := r.handed("ready"); got != others {
					r.Errorf("%d of the %d others are delivered forty minutes after they are due, with %d bytes of %d used; %d letters were tried", got, others, r.Bytes(), process, r.handed("graves"))
				}
			})
		})
	}
}

// TestCopiesThatAreGivenUpLeaveOthersTheMemory: copies are held for a target that is away until patience is over, and the
// dead-letter topic is away as well.
func TestCopiesThatAreGivenUpLeaveOthersTheMemory(t *testing.T) {
	const absent, others, process = 330, 5, 64 << 20
	plant := func(s *shelf) {
		s.share, s.process = 3<<20, process
		s.putBoth(absent, others, 10*time.Millisecond, 40*time.Minute, 2)
	}
	edit := func(c *Config) {
		toBoth(t, process/4)(c)
		c.Core.Patience = 10 * time.Minute
	}
	shelved(t, edit, plant, func(r *rig, s *shelf) {
		r.kafka.set(func(k *kafka) { k.class, k.fails, k.failsToo = purgatory.Unavailable, "absent", "graves" })
		time.Sleep(60 * time.Minute)
		if got := r.handed("ready"); got != others {
			r.Errorf("%d of the %d others are delivered twenty minutes after they are due, with %d bytes of %d used; %d letters were tried", got, others, r.Bytes(), process, r.handed("graves"))
		}
	})
}

// TestCopiesInFlightToSilentTargetsLeaveOthersTheMemory: memory is full of records with an id, which are not moved.
// Four targets fall silent with a quarter each of what may be in flight. "An eighth of memory is for reading runs".
func TestCopiesInFlightToSilentTargetsLeaveOthersTheMemory(t *testing.T) {
	for _, silent := range []bool{false, true} {
		t.Run(fmt.Sprint(silent), func(t *testing.T) {
			const share, each, others = 3 << 20, 10, 5
			plant := func(s *shelf) {
				s.share, s.process = share, share
				for i := range 4*each + others {
					target, wait, run := fmt.Sprintf("away%d", i%4), 3*time.Minute+time.Duration(i)*20*time.Millisecond, uint64(1)
					if i >= 4*each {
						target, wait, run = "ready", 20*time.Minute, 2
					}
					value := fmt.Appendf(nil, "%d%s", i, strings.Repeat(".", 10_000))
					c := runs.Copy{Origin: runs.Origin{Offset: int64(100_000 + i), TimestampMs: time.Now().UnixMilli()}, DeadlineMs: time.Now().Add(wait).UnixMilli(), Writer: 77, Run: run}
					headers, _ := runs.AppendCopy([]kgo.RecordHeader{{Key: "x-deliver-to", Value: []byte(target)}}, nil, s.id(), &c, nil, value)
					s.put(&kgo.Record{Value: value, Headers: headers, Timestamp: time.Now()})
				}
				s.copied = nil
			}
			edit := func(c *Config) {
				targets, err := delay.NewTargets("ready", []string{"away0", "away1", "away2", "away3"}, []string{"delayed"}, nil)
				if err != nil {
					t.Fatal(err)
				}
				// As in the daemon: an eighth of the bound, of which reading pauses at 0.78.
				c.Core.MaxInFlightBytes, c.Core.LargestChunk = share*100/78/8, share*100/78/64
				c.Core.HeldShare, c.Core.Patience = share/4, 12*time.Hour
				c.Rules = always(&delay.Rules{MaxDelay: 24 * time.Hour, Targets: targets})
			}
			shelved(t, edit, plant, func(r *rig, s *shelf) {
				if silent {
					r.kafka.set(func(k *kafka) { k.mutes = func(topic string) bool { return strings.HasPrefix(topic, "away") } })
				}
				for i := int64(0); r.Bytes() < share*27/32; i++ { // what is read back comes on top: then more than the share is used
					rec := r.record(i, 6*time.Hour)
					rec.Value = make([]byte, 1000)
					rec.Headers = append(rec.Headers, kgo.RecordHeader{Key: "x-delay-id", Value: fmt.Append(nil, i)})
					r.fetched(assignment(0, 1), rec)
					if i%50 == 0 {
						time.Sleep(10 * time.Millisecond)
						synctest.Wait()
					}
				}
				time.Sleep(19 * time.Minute)
				synctest.Wait()
				used, loaded, stuck := r.Bytes(), r.Loaded(), len(r.kafka.muted)
				if silent && (used < share || loaded < share/8 || stuck < 4*each) {
					r.Errorf("%d bytes used of a share of %d, %d loaded, %d stuck", used, share, loaded, stuck)
				}
				time.Sleep(5 * time.Minute)
				if got := r.handed("ready"); got != others {
					r.Errorf("%d of the %d others are delivered four minutes after they are due", got, others)
				}
				r.kafka.set(func(k *kafka) {
					k.mutes = nil
					for _, d := range k.muted {
						k.answers.Go(func() { d.done(nil) })
					}
				})
				time.Sleep(time.Minute)
			})
		})
	}
}

// TestCopiesThatWaitForMembershipLeaveOthersTheMemory: the commits of partition 0 are refused, so nothing of it is
// delivered. Partition 1 is well.
func TestCopiesThatWaitForMembershipLeaveOthersTheMemory(t *testing.T) {
	const share, waiting, others = 3 << 20, 1000, 5
	plant := func(p int, s *shelf) {
		n, from := waiting, time.Minute
		if p == 1 {
			n, from = others, 20*time.Minute
		}
		s.plant(n, 10_000, func(int) uint64 { return 1 }, func(i int) time.Duration { return from + time.Duration(i)*10*time.Millisecond })
	}
	refuse := func(r *rig) {
		r.kafka.set(func(k *kafka) {
			k.refuse, k.spares = errors.New("not authorized"), func(partition int32) bool { return partition == 1 }
		})
	}
	manyShelves(t, 2, 4, share, plant, func(r *rig, m *shelves) {
		r.kafka.set(func(k *kafka) { k.noLease = true })
		refuse(r)
		time.Sleep(5 * time.Second)
		r.kafka.set(func(k *kafka) { k.noLease = false })
		time.Sleep(21 * time.Minute)
		if n, late := r.latest(); n != others || late > time.Second || r.Bytes() > share/2 {
			r.Errorf("%d of %d are delivered, the latest %v late, with %d bytes used of %d", n, others, late, r.Bytes(), share)
		}
		r.kafka.set(func(k *kafka) { k.refuse = nil })
		time.Sleep(5 * time.Minute)
		if n, _ := r.latest(); n != others+waiting {
			r.Errorf("%d are delivered, want %d", n, others+waiting)
		}
	})
}

// TestCopiesThatAreLoadedToBeMovedLeaveOthersTheMemory: small runs of four partitions are to be loaded and moved
// together. Just then these take no more copies, as too few of their replicas are in sync. Partition 4 is well, and all
// can be read.
func TestCopiesThatAreLoadedToBeMovedLeaveOthersTheMemory(t *testing.T) {
	long.Only(t)
	const parts, runs, share = 4, fewSmall + 2, 256 << 10
	plant := func(p int, s *shelf) {
		if p == parts {
			s.plant(1, 1000, func(i int) uint64 { return uint64(i) }, func(i int) time.Duration { return 30 * time.Minute })
			return
		}
		s.plant(runs, 3900, func(i int) uint64 { return uint64(i) }, func(i int) time.Duration { return 20 * time.Hour })
		s.refuse = func(r *kgo.Record) error { return errors.New("not enough replicas") }
	}
	manyShelves(t, parts+1, 4, share, plant, func(r *rig, m *shelves) {
		time.Sleep(40 * time.Minute)
		synctest.Wait()
		whole := 0
		for _, s := range m.list {
			whole += s.cleans()
		}
		if whole < parts || r.Loaded() < share/16 {
			r.Errorf("%d bytes are loaded of a share of %d, of %d runs", r.Loaded(), share, whole)
		}
		if n, late := r.latest(); n != 1 || late > time.Second {
			r.Errorf("%d of 1 are delivered ten minutes after they are due, the latest %v late; %d bytes used of %d", n, late, r.Bytes(), share)
		}
	})
}
