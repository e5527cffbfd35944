package integration

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// runsStatus is what the tests look at of what /status says about runs.
type runsStatus struct {
	Topics []struct {
		State  string `json:"state"`
		Usable bool   `json:"usable"`
		Reason string `json:"reason"`
		Text   string `json:"text"`
	} `json:"topics"`
	Records *int64 `json:"records"` // nil: not known
	Moving  int64  `json:"moving"`
	Moved   int64  `json:"moved"`
	Loaded  int64  `json:"loaded"`
	Lost    int64  `json:"lost"`
}

// waiting is how many copies wait in runs, -1 where that is not known.
func (r runsStatus) waiting() int64 {
	if r.Records == nil {
		return -1
	}
	return *r.Records
}

// within enters n records that are due at random in a range from now on.
func (l *ledger) within(name string, n int, from, to time.Duration) []*kgo.Record {
	now := time.Now().Truncate(time.Millisecond)
	out := make([]*kgo.Record, n)
	for i := range out {
		out[i] = l.at(fmt.Sprintf("%s-%d", name, i), now.Add(from+time.Duration(rand.Int64N(int64((to-from)/time.Millisecond)))*time.Millisecond))
	}
	return out
}

// usesRuns waits until records of ingress can be moved.
func (p *process) usesRuns() {
	p.t.Helper()
	eventually(p.t, 30*time.Second, "records can be moved", func() bool {
		s := p.status()
		return len(s.Runs.Topics) > 0 && s.Runs.Topics[0].Usable
	})
}

// TestTenKillsWhileRecordsAreMoved: memory holds a part of each flood, so that nearly every kill is
// in the middle of moves. Later kills are also in the middle of visits.
func TestTenKillsWhileRecordsAreMoved(t *testing.T) {
	long(t)
	t.Parallel()
	const (
		kills = 10
		far   = 25_000 // of each life
		near  = 400
		// What is moved or delivered between the look at /status, which is 20 ms old at most, and the kill.
		slack = 1_000
	)
	f := onSharedBroker(t, 2)
	// A static member takes its place again at once.
	settings := []string{"LAYOVER_GROUP_INSTANCE_ID=" + f.group + "-0", "LAYOVER_MAX_PARKED_BYTES=8Mi"}
	out, l := f.collect(f.egress), f.newLedger()
	bound, midway := 0, 0
	for kill := range kills {
		p := f.layover(settings...)
		p.usesRuns()
		f.produce(l.within(fmt.Sprint("far-", kill), far, 75*time.Second, 120*time.Second)...)
		f.produce(l.within(fmt.Sprint("near-", kill), near, time.Second, 8*time.Second)...)
		var s status
		least := int64(kill+1) * far / 20 // another instant of each life
		eventually(t, 60*time.Second, "records are moved", func() bool {
			s = p.status()
			return s.Runs.Moved >= least && (s.Runs.Moving > 0 || s.Runs.Moved >= far*3/4)
		})
		p.kill()
		_, again := out.count()
		t.Logf("kill %d: %d moved, %d on their way, %d wait in runs, %d parked, %d read back; /status said %d may repeat; so far %d came again",
			kill, s.Runs.Moved, s.Runs.Moving, s.Runs.waiting(), s.Parked.Records, s.Runs.Loaded, s.Duplicates.Total, again)
		if s.Runs.Moving > 0 {
			midway++
		}
		if s.Runs.Lost > 0 {
			t.Errorf("kill %d: %d offsets are lost from runs", kill, s.Runs.Lost)
		}
		bound += int(s.Duplicates.Total) + slack
	}
	if midway < kills/2 {
		t.Errorf("%d of %d kills were in the middle of moves", midway, kills)
	}
	p := f.layover(settings...)
	out.await(kills*(far+near), 4*time.Minute)
	f.reachesEnd(20 * time.Second)
	eventually(t, 20*time.Second, "runs are empty", func() bool { return p.status().Runs.waiting() == 0 })
	s := p.status()
	if s.Counters.Unaccounted != 0 || s.Runs.Lost != 0 || s.Runs.Loaded == 0 {
		t.Errorf("%d records unaccounted for, %d lost from runs, %d read back", s.Counters.Unaccounted, s.Runs.Lost, s.Runs.Loaded)
	}
	p.terminate()
	out.settle()
	_, again := out.count()
	t.Logf("%d came again after %d kills, of %d that /status allowed", again, kills, bound)
	l.judge(out.all(), bound)
}

// starts returns the first offset of each partition of a topic.
func (f *fixture) starts(topic string) map[int32]int64 {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), 10*time.Second)
	defer cancel()
	listed, err := f.admin.ListStartOffsets(ctx, topic)
	if err == nil {
		err = listed.Error()
	}
	if err != nil {
		f.Fatal(err)
	}
	out := make(map[int32]int64)
	listed.Each(func(o kadm.ListedOffset) { out[o.Partition] = o.Offset })
	return out
}

// emptied waits until the broker has deleted all of a topic.
func (f *fixture) emptied(topic string, within time.Duration) {
	f.Helper()
	eventually(f.T, within, "the broker has deleted all of "+topic, func() bool {
		starts := f.starts(topic)
		ends, err := f.ends(topic)
		for partition, end := range ends {
			if starts[partition] < end {
				return false
			}
		}
		return err == nil
	})
}

// bytesOf is what the partitions of a topic take on the broker's disk.
func (f *fixture) bytesOf(topic string) (size int64) {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), 10*time.Second)
	defer cancel()
	topics, err := f.admin.ListTopics(ctx, topic)
	if err == nil {
		err = topics.Error()
	}
	var dirs kadm.DescribedAllLogDirs
	if err == nil {
		dirs, err = f.admin.DescribeAllLogDirs(ctx, topics.TopicsSet())
	}
	if err != nil {
		f.Fatal(err)
	}
	dirs.Each(func(d kadm.DescribedLogDir) {
		if d.Err != nil {
			f.Fatal(d.Err)
		}
		d.Topics.Each(func(p kadm.DescribedLogDirPartition) { size += p.Size })
	})
	return size
}

// count counts the lines of the log that have all of the words.
func (p *process) count(words ...string) (n int) {
	for line := range strings.Lines(p.log()) {
		if containsAll(line, words) {
			n++
		}
	}
	return n
}
