package journal

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"layover/cluster"
	"layover/journal/facts"
	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kgo"
)

// restoring is one call of Restore. Its goroutine owns it.
type restoring struct {
	journal *Journal
	began   time.Time
	answer  func(i int, a facts.Answer)      // takes each answer, once
	parts   map[offsets.TopicPartition]*part // by journal partition
	open    int                              // parts that are not done
	stopped bool                             // nobody waits for the answers any more
	taken   time.Time                        // when a record of any part was last taken in
	client  *kgo.Client                      // that reads; nil until a part is to be read
	// fetching says which brokers have a request: one at a time bounds the memory.
	fetching map[int32]bool
	asking   sync.WaitGroup
	bounds   chan cluster.Located
	fetched  chan fetched
	ends     chan epochEnd
}

// part is one journal partition that is read.
type part struct {
	at       offsets.TopicPartition
	no       int // index of its ask
	ask      *facts.Ask
	answer   facts.Answer // once it is done
	reader   *facts.Reader
	tail     []facts.Run // of the window before anything was read
	state    partState
	asked    bool      // an answer is awaited
	due      time.Time // when it is asked again
	bounds   cluster.Bounds
	next     int64     // first offset that was not taken in, -1: nothing is known
	progress time.Time // when a record was last taken in, or the begin
	since    time.Time // as progress, or when reading last began
	err      error     // the last error
	ends     map[int32]int64
	wanted   int32 // leader epoch whose end is missing
	early    bool  // the end of the committed leader epoch was asked for
}

// partState is what a part waits for.
type partState uint8

const (
	needsBounds partState = iota // its bounds
	reading
	needsEpochEnd // the end of a leader epoch
	done
)

// begin sets up a part for each partition that is to be read.
func (r *restoring) begin(asks []facts.Ask) {
	for i := range asks {
		ask := &asks[i]
		p := &part{
			at: r.journal.at(ask.TopicPartition), no: i, ask: ask, next: -1, progress: r.began, ends: make(map[int32]int64),
			reader: facts.NewReader(ask.ID, ask.Window, ask.LeaderEpoch, ask.LogEnd, ask.Committed),
		}
		if r.parts[p.at] != nil {
			r.answer(i, facts.Answer{Complaint: fmt.Errorf("the journal %s/%d is asked for twice", p.at.Topic, p.at.Partition)})
			continue
		}
		if p.named() {
			ask.Window.Each(func(from, to int64) bool { p.tail = append(p.tail, facts.Run{From: from, To: to}); return true })
		}
		r.parts[p.at] = p
		r.open++
		if !p.named() && !r.journal.cfg.Auto {
			r.finish(p, nil)
		}
	}
}

// named says whether the commit names records of a journal.
func (p *part) named() bool { return !p.ask.Committed.IsZero() }

// silent says whether the part has made no progress for too long. Among many a part may
// have to wait for longer than 3 s while others are read.
func (r *restoring) silent(p *part, now time.Time) bool {
	if p.named() {
		return now.Sub(p.progress) > namedWait
	}
	last := p.progress
	if p.state == reading && r.taken.After(last) {
		last = r.taken
	}
	return now.Sub(last) > unnamedWait
}

var errEndUnknown = errors.New("it is not known yet where the log of a leader epoch ends")

// endOf answers the reader's questions for ends of leader epochs.
func (p *part) endOf(epoch int32) (int64, error) {
	if end, ok := p.ends[epoch]; ok {
		return end, nil
	}
	p.wanted = epoch
	return 0, errEndUnknown
}

// silence returns the complaint about a part that made no progress.
func (p *part) silence() error {
	switch {
	case p.state == needsEpochEnd:
		return fmt.Errorf("the end of the log of leader epoch %d is not known, so that records from %d on were not taken in: %w", p.wanted, p.next, p.err)
	case p.err == nil:
		return errors.New("the journal does not answer")
	}
	return fmt.Errorf("the journal does not answer: %w", p.err)
}

// refuse ends a part whose partition must not be read at all.
func (r *restoring) refuse(p *part, why error) {
	r.end(p, why)
	p.answer.Err, p.answer.Complaint = why, nil
	r.report(p)
}

// finish ends a part: with the reason why it was not read whole, or with the reader's
// judgement.
func (r *restoring) finish(p *part, why error) {
	if p.state == done {
		return
	}
	r.end(p, why)
	r.report(p)
}

// end makes a part's answer.
func (r *restoring) end(p *part, why error) {
	p.state = done
	r.open--
	u := p.reader
	if why == nil {
		why = u.Complain(p.bounds.TopicID, p.bounds.Start, p.bounds.Stable)
	}
	if u.Damaged > 0 {
		why = errors.Join(why, fmt.Errorf("%d records of the journal are damaged", u.Damaged))
	}
	p.answer = facts.Answer{
		Restored: u.Restored(why == nil, p.bounds.Start, p.tail), LeaderEpoch: u.LeaderEpoch(), Until: u.Until(p.bounds.Start), Complaint: why,
		Records: u.Records, Bytes: u.Bytes, Others: u.Others, Damaged: u.Damaged, Group: u.Group, Took: time.Since(r.began),
	}
}

// remaining returns the number of records taken in, their bytes, and the number of offsets
// still to be read, as far as bounds are known.
func (r *restoring) remaining() (records, bytes, left int64) {
	for _, p := range r.parts {
		records += p.reader.Records
		bytes += p.reader.Bytes
		if p.state != done {
			left += max(p.bounds.Stable-max(p.next, p.bounds.Start), 0)
		}
	}
	return records, bytes, left
}

func (r *restoring) sayProgress() {
	records, bytes, left := r.remaining()
	r.journal.cfg.Log.Info("reading the journal", "partitions", r.open, "records", records, "bytes", bytes, "remaining", left)
}

// sum counts the restored records, and logs them. After a stop it does neither: the journal was
// not read to its end.
func (r *restoring) sum(asks int) {
	if r.stopped {
		return
	}
	j, took := r.journal, time.Since(r.began)
	records, bytes, _ := r.remaining()
	if asks > 0 {
		j.mu.Lock()
		j.restored = restored{j.restored.count + 1, j.restored.records + records, j.restored.bytes + bytes, j.restored.took + took, took}
		j.mu.Unlock()
	}
	if records > 0 || took > sayTook {
		j.cfg.Log.Info("journal was read", "partitions", asks, "records", records, "bytes", bytes, "took", took.Round(time.Millisecond))
	}
}

// report passes an answer on, and logs its complaint. After a stop it does neither.
func (r *restoring) report(p *part) {
	log := r.journal.cfg.Log.With("topic", p.at.Topic, "partition", p.at.Partition)
	const incomplete = "journal is incomplete: records may be delivered again"
	switch a := &p.answer; {
	case r.stopped:
	case a.Err != nil:
		log.Error("journal cannot be read", "err", a.Err)
	case a.Complaint == nil:
	case p.named():
		log.Error(incomplete, "err", a.Complaint)
	default:
		log.Warn(incomplete, "err", a.Complaint)
	}
	r.answer(p.no, p.answer)
}
