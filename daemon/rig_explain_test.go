package daemon

import "fmt"

// explain says what is known of the deliveries of a record.
func (r *rig) explain(all []arrival, want string) {
	for _, a := range all {
		id, partition := origin(a.Record)
		if id != want {
			continue
		}
		m := r.made[logPlace{a.topic, a.Partition, a.Offset}]
		if m == nil {
			r.Logf("%s %s/%d@%d offered %v: nobody known made it", id, a.Topic, a.Partition, a.Offset, a.Timestamp.Sub(r.begun))
			continue
		}
		s := fmt.Sprintf("%s %s/%d@%d offered %v applied %v heard %v by slot %d %p settled %v; tenures:", id, a.Topic, a.Partition, a.Offset,
			a.Timestamp.Sub(r.begun), m.applied.Sub(r.begun), m.heard.Sub(r.begun), m.by.slot, m.by, m.settled(partition, a.Timestamp))
		for _, t := range m.by.tenures[partition] {
			s += fmt.Sprintf("\n   begun %v", t.begun.Sub(r.begun))
			for _, c := range t.commits {
				if d := c.sent.Sub(m.applied); d > -10e9 && d < 40e9 {
					s += fmt.Sprintf("\n      %v %.60s", c.sent.Sub(r.begun), c.content)
				}
			}
		}
		r.Log(s)
	}
}
