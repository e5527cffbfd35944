package runs

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"layover/cli/clitest"
	"layover/cli/process"
	"layover/offsets"
)

// TestShowPrintsObjectsToMachines with the same facts as for people. The lines are those that
// scripts rely on.
func TestShowPrintsObjectsToMachines(t *testing.T) {
	w := someRuns(t)
	got := w.do("show -o json")
	got.stdout = strings.ReplaceAll(got.stdout, fmt.Sprintf("%x", w.runsID()), "ID")
	clitest.Objects(t, got.stdout)
	const empty = `"runs_topic":"delayed.layover-delayed.runs","exists":true,"orphan":false,"log_start":0,"log_end":0,"committed":null,"commit":null,` +
		`"exact":true,"copies":0,"bytes":0,"runs":0,"writers":0,"due_within":{"1h":0,"1d":0,"7d":0},` +
		`"finished":0,"lost":0,"foreign":0,"newer":0,"damaged":0,"strange":0,"hidden":0,"problems":[]}` + "\n"
	w.is(got, `
{"type":"partition","topic":"delayed","partition":0,"runs_topic":"delayed.layover-delayed.runs","exists":true,"orphan":false,"log_start":0,"log_end":9,"committed":1,`+
		`"commit":{"topic_id":"ID","low":2,"known_end":7,"due_by":"2040-01-03T23:59:59.999Z","directory":6,"leader_epoch":0,"holds":true},`+
		`"exact":false,"copies":5,"bytes":820,"runs":3,"writers":2,"earliest":"2040-01-03T00:00:00.000Z","latest":"2040-03-01T00:00:00.000Z","due_within":{"1h":0,"1d":0,"7d":0},`+
		`"finished":4,"lost":0,"foreign":0,"newer":0,"damaged":0,"strange":0,"hidden":0,"problems":[]}
{"type":"partition","topic":"delayed","partition":1,`+empty+`{"type":"partition","topic":"delayed","partition":2,`+empty+
		`{"type":"total","partitions":3,"exact":false,"copies":5,"bytes":820,"runs":3,"latest":"2040-03-01T00:00:00.000Z","finished":4,"downgrade_safe":false,`+
		`"missing":["at most 5 copies wait, in 1 partition, the last one due at 2040-03-01T00:00:00.000Z"]}
`)
}

// TestObjectsSayWhetherADowngradeIsSafe: true, false, or null where it is not known.
func TestObjectsSayWhetherADowngradeIsSafe(t *testing.T) {
	w := newFixture(t)
	total := func(line string) map[string]any {
		t.Helper()
		got := w.do(line + " -o json")
		all := clitest.Objects(t, got.stdout)
		last := all[len(all)-1]
		if got.code != process.ExitOK || last["type"] != "total" {
			t.Fatalf("%+v", got)
		}
		return last
	}
	if o := total("show"); o["downgrade_safe"] != true || !reflect.DeepEqual(o["missing"], []any{}) || o["latest"] != nil {
		t.Errorf("%v", o)
	}
	if o := total("show --partition 1"); o["downgrade_safe"] != nil || !reflect.DeepEqual(o["missing"], []any{"the partitions that were not asked for"}) {
		t.Errorf("%v", o)
	}
	w.commit(0, offsets.RunsState{Holds: true})
	if o := total("show"); o["downgrade_safe"] != false || !reflect.DeepEqual(o["missing"], []any{"the last commit still forbids it for 1 partition"}) {
		t.Errorf("%v", o)
	}
}

// TestObjectsNameProblems, and have no topic id where what the commit says cannot be read.
func TestObjectsNameProblems(t *testing.T) {
	w := newFixture(t)
	w.commit(0, offsets.RunsState{Holds: true})
	w.commitAs(1, "layover1:9.9.x")
	w.DeleteTopic(runsTopic)
	all := clitest.Objects(t, w.do("show -o json").stdout)
	commit := all[0]["commit"].(map[string]any)
	if commit["topic_id"] != "" || commit["holds"] != true || commit["directory"] != nil || all[0]["exists"] != false || !reflect.DeepEqual(all[0]["problems"], []any{}) {
		t.Errorf("%v", all[0])
	}
	if problems := all[1]["problems"].([]any); len(problems) != 1 || !strings.Contains(problems[0].(string), "commit metadata") || all[1]["commit"] != nil {
		t.Errorf("%v", all[1])
	}
	types := []any{all[0]["type"], all[1]["type"], all[2]["type"], all[3]["type"]}
	if !slices.Equal(types, []any{"partition", "partition", "partition", "total"}) {
		t.Errorf("types %v", types)
	}
}
