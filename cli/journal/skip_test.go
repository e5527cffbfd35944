package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"layover/cli/clitest"
	"layover/cli/process"
	"layover/offsets"
	"layover/verify/long"
)

const graves = "dead-letters"

// skip runs the verb skip where a batch may take 8 MiB and invalid records halt.
func (w *fixture) skip(line string, variables ...string) result {
	w.Helper()
	settings := []string{"LAYOVER_DLQ_TOPIC=" + graves, "LAYOVER_ON_INVALID=halt", "LAYOVER_MAX_PARKED_BYTES=16Mi"}
	return w.verb(Skip, line, append(settings, variables...)...)
}

// refuses fails the test unless the verb did nothing and said why.
func (w *fixture) refuses(got result, why string) {
	w.Helper()
	if got.code != process.ExitRuntime || !strings.Contains(got.stderr, why) || strings.Contains(got.stdout, "Done") {
		w.Errorf("exit code %d, stderr:\n%s\nwant:\n%s\nstdout:\n%s", got.code, got.stderr, why, got.stdout)
	}
}

// forSkips is a fixture with a dead-letter topic.
func forSkips(t *testing.T, opts ...kfake.Opt) *fixture {
	return newFixture(t, append(opts, kfake.SeedTopics(1, graves))...)
}

// bomb appends a batch of 5 records to a partition that takes 10 MiB decompressed.
func (w *fixture) bomb(partition int32, opts ...kgo.Opt) {
	w.Helper()
	cl := w.NewClient(append(opts, kgo.ProducerLinger(10*time.Millisecond), kgo.ProducerBatchMaxBytes(64<<20), kgo.ProducerBatchCompression(kgo.GzipCompression()))...)
	defer cl.Close()
	records := make([]*kgo.Record, 5)
	for i := range records {
		records[i] = &kgo.Record{Topic: ingress, Partition: partition, Value: make([]byte, 2<<20)}
	}
	if len(opts) > 0 {
		if err := cl.BeginTransaction(); err != nil {
			w.Fatal(err)
		}
	}
	if err := cl.ProduceSync(w.Context(), records...).FirstErr(); err != nil {
		w.Fatal(err)
	}
	if len(opts) > 0 {
		if err := cl.EndTransaction(w.Context(), kgo.TryAbort); err != nil {
			w.Fatal(err)
		}
	}
}

// letter returns the only dead letter, nil where there is none.
func (w *fixture) letter() *kgo.Record {
	w.Helper()
	letters := w.Records(graves)
	if len(letters) > 1 {
		w.Fatalf("%d dead letters", len(letters))
	}
	if len(letters) == 0 {
		return nil
	}
	return letters[0]
}

// says fails the test unless a letter has these headers of ours, and a time.
func (w *fixture) says(r *kgo.Record, want map[string]string) {
	w.Helper()
	got := map[string]string{}
	for _, h := range r.Headers {
		got[strings.TrimPrefix(h.Key, "layover.errors.")] = string(h.Value)
	}
	if got["timestamp"] == "" {
		w.Error("the letter has no time")
	}
	delete(got, "timestamp")
	if !reflect.DeepEqual(got, want) {
		w.Errorf("the letter says %q\nwant %q", got, want)
	}
}

// TestSkipLeavesOutABatchAndWhatIsFinishedStays: as a restart finds it, from the commit and
// from the journal.
func TestSkipLeavesOutABatchAndWhatIsFinishedStays(t *testing.T) {
	w := forSkips(t)
	w.fill(0, 20_000)
	w.bomb(0)
	w.fill(0, 10)
	e := w.assignment(0, 0xa1)
	e.window.FinishRange(0, 50)
	e.finish(51, 15_000)
	e.commit()
	e.window.Finish(19_990) // since the last record of the journal, in the metadata alone
	e.ledger.Note(19_990, 19_991)
	e.commit()
	plan := `
delayed/0@20000: leaves out the batch of the offsets 20000 to 20004: it takes more than 8388608 bytes decompressed, which LAYOVER_MAX_PARKED_BYTES allows a batch
  it says that it has 5 records, and takes 10315 bytes with gzip, of leader epoch 0
  writes one dead letter to dead-letters, without content, for 5 records without an outcome: reason too_large_to_read
  commits offset 50 in place of 50, with 6 of the offsets finished above
`
	before := *w.committed(0)
	got := w.skip("delayed/0@20000")
	size := strings.SplitN(strings.SplitN(got.stdout, "takes ", 3)[2], " bytes", 2)[0]
	plan = strings.Replace(plan, "10315", size, 1)
	w.is(got, plan+"Dry run: nothing was done. With --execute it is skipped.\n")
	if *w.committed(0) != before || w.letter() != nil {
		t.Error("a dry run did something")
	}
	w.is(w.skip("delayed/0@20002 --execute"), strings.Replace(plan, "@20000", "@20002", 1)+"Done: Layover goes on behind it.\n")

	r := w.letter()
	w.says(r, map[string]string{
		"topic": ingress, "partition": "0", "offset": "20000", "last_offset": "20004", "records": "5", "group": group, "reason": "too_large_to_read",
		"message": "delayed/0@20000: left out by an operator with layover skip: it takes more than 8388608 bytes decompressed, which LAYOVER_MAX_PARKED_BYTES allows a batch",
	})
	if r.Key != nil || r.Value != nil {
		t.Errorf("key %q, value %q", r.Key, r.Value)
	}
	ask, answer := w.begin(0)
	e.window.FinishRange(20_000, 20_005)
	w.same(ask.Window, e.window)
	if ask.ID.Incarnation != 0xa1 || answer.LeaderEpoch != w.epoch || ask.Committed.IsZero() {
		t.Errorf("incarnation %x, leader epoch %d, names %+v", ask.ID.Incarnation, answer.LeaderEpoch, ask.Committed)
	}
	w.refuses(w.skip("delayed/0@20000 --execute"), "delayed/0@20000: it is finished already: there is nothing to skip")
	w.refuses(w.skip("delayed/0@51 --execute"), "finished already") // the journal alone says so
}

func TestSkipRefusesWhatItCannotKnow(t *testing.T) {
	long.Only(t)
	w := forSkips(t)
	w.fill(0, 10)
	w.bomb(0)
	w.fill(1, 1)
	w.DeleteRecords(ingress, 0, 3)
	w.commit(0, 5, w.epoch, "")
	foreign := w.id(2, 0xa1).Identity
	foreign.TopicID = offsets.TopicID{9}
	w.fill(2, 3)
	w.commit(2, 1, w.epoch, offsets.Encode(offsets.NewWindow(1), foreign, offsets.Extension{Incarnation: 1}, 4096).Metadata)
	for line, test := range map[string]struct{ set, why string }{
		"delayed/1@0":  {"", "delayed/1: group layover-delayed has no offset of it, so that its finished offsets are not known"},
		"delayed/0@2":  {"", "delayed/0@2: the log starts at 3: nothing is there any more"},
		"delayed/0@15": {"", "delayed/0@15: the log ends at 15: nothing is there yet"},
		"delayed/0@4":  {"", "delayed/0@4: it is finished already: there is nothing to skip"},
		"delayed/9@0":  {"", `delayed/9@0: ingress topic "delayed" has the partitions 0 to 2`},
		"delayed/0@10": {"LAYOVER_DLQ_TOPIC=", "delayed/0@10: there is no dead-letter topic for it: set LAYOVER_DLQ_TOPIC, or choose --drop"},
		"delayed/0@11": {"LAYOVER_DLQ_TOPIC=gone", "dead letter to gone: UNKNOWN_TOPIC_OR_PARTITION"},
		"delayed/2@1":  {"", "delayed/2: the committed offset 1 is of a topic of that name that was deleted: Layover reads this one from its start"},
		"gone/0@1":     {"LAYOVER_INGRESS_TOPICS=gone", `ingress topic "gone" does not exist on broker`},
	} {
		before := w.committed(0)
		w.refuses(w.skip(line+" --execute", test.set), test.why)
		if *w.committed(0) != *before || w.letter() != nil {
			t.Errorf("%s: something was done", line)
		}
	}
}

func TestSkipDoesNothingWhileThereAreMembers(t *testing.T) {
	w := forSkips(t)
	w.bomb(0)
	w.commit(0, 0, w.epoch, "")
	leave := w.join()
	const why = "layover skip: group layover-delayed has 1 member: stop all Layover processes of the group first; one that was killed counts until its session has timed out\n"
	for _, line := range []string{"delayed/0@0", "delayed/0@0 --execute"} {
		got := w.skip(line)
		w.fails(got, why)
		if !strings.Contains(got.stdout, "leaves out the batch of the offsets 0 to 4") || w.letter() != nil || w.committed(0).Offset != 0 {
			t.Errorf("%s: %+v", line, got)
		}
	}
	leave()
	if got := w.skip("delayed/0@0 --execute"); got.code != process.ExitOK || w.committed(0).Offset != 5 {
		t.Errorf("%+v", got)
	}
}

func TestSkipWritesNoLetterWhereNoneIsWanted(t *testing.T) {
	for name, test := range map[string]struct {
		line string
		set  []string
		opts []kgo.Opt
		says string
		low  int64
	}{
		"drop by a flag":  {"--drop", []string{"LAYOVER_DLQ_TOPIC="}, nil, "writes no dead letter: 5 records without an outcome is dropped", 6},
		"drop by policy":  {"", []string{"LAYOVER_ON_INVALID=drop"}, nil, "writes no dead letter: 5 records without an outcome is dropped", 6},
		"nobody reads it": {"", nil, []kgo.Opt{kgo.TransactionalID("bomber")}, "writes no dead letter: its transaction was aborted, and nobody is to read it", 6},
	} {
		t.Run(name, func(t *testing.T) {
			w := forSkips(t)
			w.fill(0, 1)
			w.bomb(0, test.opts...)
			w.commit(0, 1, w.epoch, "")
			if got := w.skip("delayed/0@1 --execute "+test.line, test.set...); got.code != process.ExitOK || !strings.Contains(got.stdout, test.says) {
				t.Errorf("%+v", got)
			}
			if w.letter() != nil || w.committed(0).Offset != test.low {
				t.Errorf("a letter %v, committed %+v", w.letter(), w.committed(0))
			}
		})
	}
}

// TestSkipLeavesOutARecordAloneWhereItsBatchCanBeRead: what halted the partition is that
// record, and its neighbours are delivered.
func TestSkipLeavesOutARecordAloneWhereItsBatchCanBeRead(t *testing.T) {
	w := forSkips(t)
	bad := &kgo.Record{Topic: ingress, Key: []byte("k"), Value: []byte("v"), Headers: []kgo.RecordHeader{{Key: "x-delay", Value: []byte("soon")}}}
	batch := []*kgo.Record{{Topic: ingress}, bad, {Topic: ingress}}
	w.Produce(batch...)
	w.commit(0, 0, w.epoch, "")
	got := w.skip("delayed/0@1 --execute")
	if got.code != process.ExitOK || !strings.HasPrefix(got.stdout, "delayed/0@1: leaves out this record alone, as its batch can be read: 1 byte, written ") ||
		!strings.Contains(got.stdout, "\n  writes it to dead-letters: reason skipped\n  commits offset 0 in place of 0, with 1 of the offsets finished above\n") {
		t.Errorf("%+v", got)
	}
	r := w.letter()
	w.says(r, map[string]string{
		"topic": ingress, "partition": "0", "offset": "1", "group": group, "reason": "skipped", "x-delay": "soon",
		"message": "delayed/0@1: left out by an operator with layover skip",
	})
	if string(r.Key) != "k" || string(r.Value) != "v" {
		t.Errorf("key %q, value %q", r.Key, r.Value)
	}
	ask, _ := w.begin(0)
	if runs(ask.Window) != "0 1-2" {
		t.Errorf("finished is %s", runs(ask.Window))
	}
	w.refuses(w.skip("delayed/0@1 --execute"), "finished already")
}

// TestSkipCommitsNothingWithoutItsLetter, and the letter comes again with the next try.
func TestSkipCommitsNothingWithoutItsLetter(t *testing.T) {
	w := forSkips(t)
	w.bomb(0)
	w.commit(0, 0, w.epoch, "")
	refused := w.Refuse(kmsg.Produce, kfake.Fault{Topic: graves, Err: kerr.TopicAuthorizationFailed})
	w.refuses(w.skip("delayed/0@0 --execute"), "allow Write on topic dead-letters; nothing was committed")
	refused.Remove()
	w.Refuse(kmsg.OffsetCommit, kfake.Fault{Err: kerr.GroupAuthorizationFailed})
	w.refuses(w.skip("delayed/0@0 --execute"), "allow Read on group layover-delayed")
	if w.letter() == nil || w.committed(0).Offset != 0 {
		t.Errorf("letter %v, committed %+v", w.letter(), w.committed(0))
	}
}

// TestSkipCommitsNothingWithoutTheJournal: taken for empty, it would make a restart deliver
// again all that it alone has.
func TestSkipCommitsNothingWithoutTheJournal(t *testing.T) {
	for name, test := range map[string]struct {
		key   kmsg.Key
		fault kerr.Error
		why   string
	}{
		"its log bounds are not known": {kmsg.ListOffsets, *kerr.KafkaStorageError, "delayed/0: log bounds: KAFKA_STORAGE_ERROR"},
		"it may not be described":      {kmsg.Metadata, *kerr.TopicAuthorizationFailed, "allow Describe on topic " + "delayed.layover-delayed"},
	} {
		t.Run(name, func(t *testing.T) {
			w := forSkips(t)
			w.fill(0, 20_000)
			w.bomb(0)
			e := w.assignment(0, 0xa1)
			e.finish(51, 15_000)
			e.commit()
			before := *w.committed(0)
			fault := w.Refuse(test.key, kfake.Fault{Topic: "delayed.layover-delayed", Err: &test.fault})
			w.refuses(w.skip("delayed/0@20000 --execute"), test.why)
			if *w.committed(0) != before || w.letter() != nil {
				t.Error("something was done")
			}
			fault.Remove()
			if got := w.skip("delayed/0@20000 --execute"); got.code != process.ExitOK {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestSkipMakesRoomForWhatItLeavesOut: without it in the commit the partition would stop
// there again.
func TestSkipMakesRoomForWhatItLeavesOut(t *testing.T) {
	w := forSkips(t)
	w.fill(0, 9000)
	w.bomb(0)
	set := offsets.NewWindow(0)
	for o := int64(1); o < 9000; o += 2 + o%7 {
		set.Finish(o)
	}
	enc := set.Encode(w.id(0, 0).Identity, offsets.MaxMetadata)
	if enc.Complete {
		t.Fatal("the set fits")
	}
	w.commit(0, 0, w.epoch, enc.Metadata)
	was, _ := w.begin(0)
	got := w.skip("delayed/0@9000 --execute")
	if got.code != process.ExitOK || !strings.Contains(got.stdout, "finished offsets that do not fit beside it, and are delivered again: ") {
		t.Errorf("%+v", got)
	}
	ask, _ := w.begin(0)
	if !ask.Window.Finished(9000) || !ask.Window.Finished(9004) || ask.Window.Finished(9005) || ask.Window.Above() < was.Window.Above()/3 {
		t.Errorf("of %d finished offsets %d are left", was.Window.Above(), ask.Window.Above())
	}
	ask.Window.Each(func(from, to int64) bool {
		for o := from; o < to; o++ {
			if o < 9000 && !was.Window.Finished(o) {
				t.Errorf("%d was not finished", o)
			}
		}
		return true
	})
}

func TestSkipPrintsAnObject(t *testing.T) {
	w := forSkips(t)
	w.bomb(0)
	w.commit(0, 3, w.epoch, "") // from a run in which it could be read
	got := w.skip("delayed/0@3 -o json")
	var facts map[string]any
	if err := json.Unmarshal([]byte(got.stdout), &facts); err != nil || got.code != process.ExitOK {
		t.Fatalf("%+v, %v", got, err)
	}
	delete(facts, "bytes")
	want := map[string]any{
		"topic": ingress, "partition": 0.0, "offset": 3.0, "what": "batch", "first_offset": 0.0, "last_offset": 4.0, "records": 2.0, "codec": "gzip", "leader_epoch": 0.0,
		"aborted": false, "reason": "too_large_to_read", "problem": facts["problem"], "dead_letter_topic": graves, "done": false,
	}
	if !reflect.DeepEqual(facts, want) {
		t.Errorf("got  %v\nwant %v", facts, want)
	}
	if got := w.skip("delayed/0@3 -o json --execute"); !strings.Contains(got.stdout, `"done":true`) || w.committed(0).Offset != 5 {
		t.Errorf("%+v", got)
	}
}

func TestTheCommandLineOfSkip(t *testing.T) {
	settings := []string{"KAFKA_BROKERS=127.0.0.1:1", "LAYOVER_INGRESS_TOPICS=delayed,later", "LAYOVER_GROUP_ID=g", "LAYOVER_EGRESS_TOPIC=ready", "LAYOVER_ON_INVALID=drop"}
	place := func(text string) string {
		return fmt.Sprintf("%q: want TOPIC/PARTITION@OFFSET, such as delayed/0@1041", text)
	}
	for line, want := range map[string]string{
		"":                         "TOPIC/PARTITION@OFFSET is missing: /status and the log say where a partition stopped",
		"delayed":                  place("delayed"),
		"delayed/0":                place("delayed/0"),
		"delayed@0":                place("delayed@0"),
		"delayed/x@0":              place("delayed/x@0"),
		"delayed/-1@0":             place("delayed/-1@0"),
		"delayed/0@-1":             place("delayed/0@-1"),
		"/0@1":                     place("/0@1"),
		"delayed/0@1/2":            place("delayed/0@1/2"),
		"delayed/0@1 delayed/0@2":  `unexpected argument "delayed/0@2"`,
		"ready/0@1":                "ready/0@1: not an ingress topic; LAYOVER_INGRESS_TOPICS has delayed, later",
		"delayed/0@1 --force":      "unknown flag: --force",
		"delayed/99999999999@1":    place("delayed/99999999999@1"),
		"delayed/0@1 -o yaml":      `invalid argument "yaml" for "-o, --output" flag: want text or json`,
		"delayed/0@1 --execute=no": `invalid argument "no" for "--execute" flag: strconv.ParseBool: parsing "no": invalid syntax`,
	} {
		var stdout, stderr bytes.Buffer
		code := clitest.Run(t.Context(), &process.Process{Args: strings.Fields(line), Environ: settings, Stdout: &stdout, Stderr: &stderr}, Skip)
		if code != process.ExitUsage || stdout.Len() > 0 || stderr.String() != "layover skip: "+want+"\nSee 'layover help skip'.\n" {
			t.Errorf("%q: code %d, stdout %q, stderr %q", line, code, &stdout, &stderr)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stdout, stderr bytes.Buffer
	code := clitest.Run(ctx, &process.Process{Args: []string{"delayed/0@1"}, Environ: settings, Stdout: &stdout, Stderr: &stderr}, Skip)
	if code != process.ExitRuntime || !strings.Contains(stderr.String(), "metadata") {
		t.Errorf("without brokers: code %d, stderr %q", code, &stderr)
	}
}
