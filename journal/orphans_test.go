package journal

import (
	"reflect"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestOrphansAreFound: the ingress topic is made again with fewer partitions than its runs topic has, deleted, forbidden,
// and given the partitions.
func TestOrphansAreFound(t *testing.T) {
	inBubbleWithRuns(t, func(w *runsFixture) {
		w.run()
		w.used()
		began := time.Now()
		found := func(what string, ingress int32, records int64, partitions ...int32) {
			t.Helper()
			want := Orphans{Asked: true, Ingress: ingress, Partitions: partitions, Records: records}
			got := func() Orphans {
				o := w.view().Orphans
				if o.Since.IsZero() == (o.Records > 0) || o.Records > 0 && o.Since.Before(began) {
					t.Errorf("%s: %d records since %v", what, o.Records, o.Since)
				}
				o.Since = time.Time{}
				return o
			}
			w.Until(90*time.Second, what, func() bool { return reflect.DeepEqual(got(), want) })
		}
		found("as many partitions", 3, 0)
		for p, n := range []int{1, 0, 7} {
			for range n {
				w.Produce(&kgo.Record{Topic: runsName, Partition: int32(p), Value: []byte("x")})
			}
		}
		w.DeleteTopic(ingress)
		found("no ingress topic", 0, 8, 0, 2)
		w.CreateTopic(ingress, 2, nil)
		found("two partitions", 2, 7, 2)
		w.DeleteRecords(runsName, 2, 5)
		found("fewer records, by the next look", 2, 2, 2)
		no := w.Refuse(kmsg.ListOffsets, kfake.Fault{Topic: runsName, Err: kerr.UnknownServerError})
		time.Sleep(2 * time.Minute)
		found("nobody tells, and the last finding stands", 2, 2, 2)
		no.Remove()
		w.grow(3)
		found("all partitions again", 3, 0)
		no = w.Refuse(kmsg.Metadata, kfake.Fault{Topic: ingress, Err: kerr.TopicAuthorizationFailed})
		found("it may not be looked at", 0, 3, 0, 2)
		no.Remove()
		found("it may be again", 3, 0)
	})
}

// TestWhatNobodyToldOfOrphansIsNotAsked: with no answer yet there are none that are known, and none that are known not to be.
func TestWhatNobodyToldOfOrphansIsNotAsked(t *testing.T) {
	inBubbleWithRuns(t, func(w *runsFixture) {
		w.run()
		w.used()
		w.Produce(&kgo.Record{Topic: runsName, Partition: 2, Value: []byte("x")})
		defer w.Refuse(kmsg.ListOffsets, kfake.Fault{Topic: runsName, Err: kerr.UnknownServerError}).Remove()
		w.DeleteTopic(ingress)
		w.CreateTopic(ingress, 2, nil)
		time.Sleep(time.Minute)
		if o := w.view().Orphans; o.Asked || o.Records > 0 {
			t.Errorf("%+v", o)
		}
	})
}

// grow gives the ingress topic partitions.
func (w *runsFixture) grow(partitions int) {
	w.Helper()
	if _, err := w.Admin().UpdatePartitions(w.Context(), partitions, ingress); err != nil {
		w.Fatal(err)
	}
}
