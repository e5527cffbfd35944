package journal

import (
	"reflect"
	"testing"

	"layover/cli/clitest"
	"layover/cli/process"
)

// TestShowPrintsObjectsToMachines with the same facts as for people.
func TestShowPrintsObjectsToMachines(t *testing.T) {
	w := newFixture(t)
	w.fill(0, 1000)
	e := w.assignment(0, 0xfedcba9876543210).finish(1, 600)
	e.commit()
	e.window.FinishRange(0, 650)
	e.ledger.Note(600, 650)
	e.finish(652, 656)
	w.append(name, 0, []byte("hello"))
	other := w.id(0, 0xb2)
	other.Group = "other"
	stranger := w.assignmentOf(other)
	stranger.into = 0
	stranger.finish(1, 600)

	got := w.do("show --partition 0 --runs -o json")
	if got.code != process.ExitOK || got.stderr != "" {
		t.Fatalf("%+v", got)
	}
	all := clitest.Objects(t, got.stdout)
	var types []any
	for _, o := range all {
		types = append(types, o["type"])
		if o["topic"] != "delayed" || o["partition"] != 0.0 {
			t.Errorf("of what is %v", o)
		}
	}
	records := len(all) - 3
	want := []any{"partition"}
	for range records {
		want = append(want, "record")
	}
	if want = append(want, "total", "incarnation"); !reflect.DeepEqual(types, want) {
		t.Fatalf("types %v, want %v", types, want)
	}
	holds(t, all[0], map[string]any{"journal": name, "exists": true, "log_start": 0.0, "log_end": float64(records), "committed": 0.0})
	holds(t, all[1], map[string]any{"offset": 0.0, "timestamp": "2026-01-01T12:00:01.000Z", "bytes": 471.0, "kind": "snapshot end",
		"incarnation": "fedcba9876543210", "writer": "0000000000000001", "leader_epoch": 0.0, "low": 0.0, "above": 200.0, "runs": 200.0})
	if runs := all[1]["finished"].([]any); len(runs) != 200 || !reflect.DeepEqual(runs[1], []any{4.0, 4.0}) {
		t.Errorf("runs %v", runs)
	}
	snapshots := 0.0
	for _, o := range all[1 : records+1] {
		if o["kind"] == "snapshot end" && o["of"] == nil {
			snapshots++
		}
	}
	hello, last := all[records-1], all[records]
	holds(t, hello, map[string]any{"bytes": 5.0, "problem": "foreign (not a record of a journal)", "kind": nil, "low": nil})
	holds(t, last, map[string]any{"of": `group "other"`, "incarnation": "00000000000000b2"})
	holds(t, all[records+1], map[string]any{"records": float64(records), "snapshots": snapshots, "others": 1.0, "foreign": 1.0, "damaged": 0.0, "newer": 0.0, "left_out": 0.0})
	holds(t, all[records+2], map[string]any{"incarnation": "fedcba9876543210", "of_commit": true, "records": float64(records - 2), "low": 650.0, "above": 2.0})

	plain := clitest.Objects(t, w.do("show --partition 0 -o json").stdout)
	if _, there := plain[1]["finished"]; there || len(plain) != len(all) {
		t.Errorf("without --runs: %v", plain[1])
	}
}

func holds(t *testing.T, got, want map[string]any) {
	t.Helper()
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s is %v, want %v, in %v", name, got[name], value, got)
		}
	}
}

func TestAnEmptyJournalIsOneObject(t *testing.T) {
	w := newFixture(t)
	all := clitest.Objects(t, w.do("show --partition 1 -o=json").stdout)
	if len(all) != 1 {
		t.Fatalf("got %v", all)
	}
	holds(t, all[0], map[string]any{"type": "partition", "partition": 1.0, "exists": true, "log_start": 0.0, "log_end": 0.0, "committed": nil, "commit": "commit: none"})
	w.DeleteTopic(name)
	w.CreateTopic(name, 2, nil)
	all = clitest.Objects(t, w.do("show --partition 2 -o json").stdout)
	if len(all) != 1 || all[0]["exists"] != false {
		t.Errorf("got %v", all)
	}
}
