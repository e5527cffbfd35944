package daemon

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"layover/journal/facts"
	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// journalTopic is where the daemons keep what does not fit into a commit.
const journalTopic = ingress + "." + group

// view is what is finished of a partition for whoever reads its commit and its journal.
type view struct {
	life    uint64          // of the group's offset, as the commit has it; 0: none
	names   bool            // the commit names records of the journal
	commit  *offsets.Window // what the commit says
	whole   bool            // and that it left out nothing for want of room
	journal *offsets.Window // what the journal says, nil for nothing
	// named is what records said that a commit of their writer named: all that come
	// after have read them. What a former owner appends late may be gone again with
	// a deletion of an owner who has not read it.
	named *offsets.Window
	harms int // done to the journal before
}

// says says whether all who come after know that an offset is finished.
func (v *view) says(offset int64) bool {
	return v.commit.Finished(offset) || v.named != nil && v.named.Finished(offset)
}

// partial says whether the set has left the journal, and the commit has no room for all of it.
func (v *view) partial() bool { return !v.names && !v.whole }

// holds says whether it can be read anywhere that an offset is finished.
func (v *view) holds(offset int64) bool {
	return v.commit.Finished(offset) || v.journal != nil && v.journal.Finished(offset)
}

func (v *view) String() string {
	text := fmt.Sprintf("%d finished above it", v.commit.Above())
	if v.journal != nil {
		text += fmt.Sprintf(", and in the journal, named %v, all below %d and %d above", v.names, v.journal.Low(), v.journal.Above())
	}
	return text
}

// end is above all that is said.
func (v *view) end() int64 {
	end := max(v.commit.Highest()+1, v.commit.Low())
	if v.named != nil {
		end = max(end, v.named.Highest()+1, v.named.Low())
	}
	return end
}

// readView reads a commit and then the journal, in which there may be more than the
// commit knew, and never less.
func (r *rig) readView(id offsets.Identity, c kfake.GroupCommit, harms int) (*view, error) {
	metadata := c.Metadata
	if metadata == offsets.Unstarted { // its first owner could not ask for its bounds
		metadata = ""
	}
	w, ext, err := offsets.DecodeAll(metadata, id, c.Offset)
	if err != nil {
		return nil, fmt.Errorf("metadata of %s/%d at %d: %w", ingress, id.Partition, c.Offset, err)
	}
	v := &view{life: ext.Incarnation, names: !ext.Journal.IsZero(), commit: w, whole: r.plan.whole(len(c.Metadata)), harms: harms}
	if v.life == 0 {
		return v, nil
	}
	l := r.journals[id.Partition]
	if l == nil {
		l = new(journalLog)
		r.journals[id.Partition] = l
	}
	of := facts.Identity{Identity: id, Group: group, Incarnation: v.life}
	if v.journal, err = l.said(r, of); err != nil {
		return nil, err
	}
	v.named, err = l.note(of, harms, ext.Journal)
	if v.partial() {
		v.named = nil
	}
	return v, err
}

// whole says whether metadata of a length has left out nothing for want of room. Such
// metadata is not as long as any limit that a daemon may have.
func (p *plan) whole(length int) bool {
	const mostLeftOver = 16 // the next run did not fit into so much
	for limit := offsets.MaxMetadata; limit >= 256; limit /= 2 {
		if length > limit-mostLeftOver && length <= limit {
			return false
		}
		if p.metadata == 0 {
			break // no daemon has heard of a lower one
		}
	}
	return p.metadata == 0 || p.metadata >= 256
}

// journalLog is one partition of the journal as the brokers have it.
type journalLog struct {
	topic       [16]byte
	start, next int64
	records     []*kgo.Record // from start on

	id     facts.Identity  // of the reader; zero: there is none
	window *offsets.Window // what the records say together
	reader *facts.Reader

	named commitsNamed
}

// commitsNamed is what commits have named in one life of an offset, since the journal
// was last harmed.
type commitsNamed struct {
	id     facts.Identity
	harms  int
	window *offsets.Window
	reader *facts.Reader
	to     map[uint64]int64 // by writer: the last of its records that was named
}

// endless is where the ingress log of any leader epoch ends: the rig truncates none.
func endless(int32) (int64, error) { return math.MaxInt64, nil }

// note takes what a commit names and returns what all commits have named.
func (l *journalLog) note(id facts.Identity, harms int, j offsets.JournalRange) (*offsets.Window, error) {
	n := &l.named
	if n.id != id || n.harms != harms {
		*n = commitsNamed{id: id, harms: harms, window: offsets.NewWindow(0), to: make(map[uint64]int64)}
		n.reader = facts.NewReader(id, n.window, -1, math.MaxInt64, offsets.JournalRange{})
	}
	last := slices.IndexFunc(l.records, func(k *kgo.Record) bool { return k.Offset == j.To })
	if j.TopicID != l.topic || last < 0 {
		return n.window, nil
	}
	writer := writerOf(l.records[last])
	for _, k := range l.records[:last+1] {
		if to, ok := n.to[writer]; writerOf(k) != writer || ok && k.Offset <= to {
			continue
		}
		if err := n.reader.Add(k.Offset, k.Value, endless); err != nil {
			return nil, err
		}
	}
	n.to[writer] = max(j.To, n.to[writer])
	return n.window, nil
}

// writerOf returns the assignment that wrote a record, 0 where none did.
func writerOf(k *kgo.Record) uint64 {
	rec, err := facts.Read(k.Value)
	if err != nil {
		return 0
	}
	return rec.Writer
}

// said returns what the journal says about a partition, which is not to be changed. It
// is another window whenever records have gone.
func (l *journalLog) said(r *rig, id facts.Identity) (*offsets.Window, error) {
	fresh, err := l.read(r, id.Partition)
	if err != nil {
		return nil, err
	}
	if l.id != id {
		l.id, l.window, fresh = id, offsets.NewWindow(0), l.records
		l.reader = facts.NewReader(id, l.window, -1, math.MaxInt64, offsets.JournalRange{})
	}
	for _, k := range fresh {
		if err := l.reader.Add(k.Offset, k.Value, endless); err != nil {
			return nil, err
		}
	}
	if l.reader.Damaged > 0 && !r.garbled.Load() {
		return nil, fmt.Errorf("%d records in partition %d of the journal are damaged", l.reader.Damaged, id.Partition)
	}
	return l.window, nil
}

// read brings the log up to date and returns the records that are new.
func (l *journalLog) read(r *rig, partition int32) (fresh []*kgo.Record, err error) {
	err = kerr.UnknownTopicOrPartition
	for range 100 {
		topic, p := r.Broker.TopicInfo(journalTopic), r.Broker.PartitionInfo(journalTopic, partition)
		if topic == nil || p == nil {
			*l = journalLog{}
			return nil, nil
		}
		if l.topic != topic.TopicID {
			*l = journalLog{topic: topic.TopicID, start: p.LogStartOffset, next: p.LogStartOffset}
			fresh = nil
		}
		if l.start < p.LogStartOffset { // the reader is of what is left
			r.sum.journal.deletions++
			l.start, l.next, l.id = p.LogStartOffset, max(l.next, p.LogStartOffset), facts.Identity{}
			for len(l.records) > 0 && l.records[0].Offset < l.start {
				l.records = l.records[1:]
			}
		}
		if l.next >= p.HighWatermark {
			return fresh, nil
		}
		var got []*kgo.Record
		if got, err = r.fetchJournal(l, p); err != nil {
			time.Sleep(usualTime) // somebody else leads it, or it is gone
			continue
		}
		for _, k := range got {
			r.sum.journal.note(k.Value)
			l.records, fresh, l.next = append(l.records, k), append(fresh, k), k.Offset+1
		}
	}
	return nil, fmt.Errorf("reading partition %d of the journal: %w", partition, err)
}

// rigRack marks requests of the rig, which no fault is meant for.
const rigRack = "rig"

func isOurs(q kmsg.Request) bool {
	f, ok := q.(*kmsg.FetchRequest)
	return ok && f.Rack == rigRack
}

// fetchJournal asks a leader for what comes next of a journal.
func (r *rig) fetchJournal(l *journalLog, p *kfake.PartitionInfo) ([]*kgo.Record, error) {
	part := kmsg.NewFetchRequestTopicPartition()
	part.Partition, part.FetchOffset, part.PartitionMaxBytes = p.Partition, l.next, 1<<20
	topic := kmsg.NewFetchRequestTopic()
	topic.Topic, topic.TopicID, topic.Partitions = journalTopic, l.topic, append(topic.Partitions, part)
	req := kmsg.NewPtrFetchRequest()
	req.SessionEpoch, req.MaxBytes, req.Rack = -1, 1<<20, rigRack
	req.Topics = append(req.Topics, topic)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	answer, err := r.Client.Broker(int(p.Leader)).Request(ctx, req)
	if err != nil {
		return nil, err
	}
	resp := answer.(*kmsg.FetchResponse)
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return nil, err
	}
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return nil, kerr.UnknownTopicOrPartition
	}
	got, _ := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{Topic: journalTopic, Partition: p.Partition, Offset: l.next},
		&resp.Topics[0].Partitions[0], outside, nil)
	if len(got.Records) == 0 && got.Err == nil {
		return nil, kerr.OffsetNotAvailable
	}
	return got.Records, got.Err
}
