package lane

import (
	"encoding/json"

	"layover/delay"
	"layover/purgatory"

	"github.com/twmb/franz-go/pkg/kgo"
)

// event is the JSON of an event's record. Members that say nothing are null.
type event struct {
	Event     string  `json:"event"`
	ID        *string `json:"id"`
	Topic     string  `json:"topic"`
	Partition int32   `json:"partition"`
	Offset    *int64  `json:"offset"`
	By        *int64  `json:"by"`
	Due       *string `json:"due"`
	At        string  `json:"at"`
}

// EventBody returns the record that says an event: its key is the id.
func EventBody(e *purgatory.Event) purgatory.Body {
	out := event{Event: e.Kind.String(), Topic: e.Topic, Partition: e.Partition, At: delay.FormatTime(e.AtMs)}
	if e.ID != nil {
		id := string(e.ID)
		out.ID = &id
	}
	if e.Offset >= 0 {
		due := delay.FormatTime(e.DueMs)
		out.Offset, out.Due = &e.Offset, &due
	}
	if e.By >= 0 {
		out.By = &e.By
	}
	value, err := json.Marshal(&out)
	if err != nil {
		panic(err) // strings and numbers alone
	}
	return &body{record: &kgo.Record{Key: e.ID, Value: value}}
}
