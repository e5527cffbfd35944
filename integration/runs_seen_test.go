package integration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// shown is what the test looks at of an object of `layover runs show -o json`.
type shown struct {
	Type      string
	Partition int32
	LogStart  int64 `json:"log_start"`
	LogEnd    int64 `json:"log_end"`
	Commit    *struct{ Holds bool }
	Exact     bool
	Copies    int64
	Bytes     int64
	Runs      int64
	Within    map[string]int64 `json:"due_within"`
	Safe      *bool            `json:"downgrade_safe"`
	Missing   []string
}

// showRuns runs the verb, holds the names of all fields to the document, and returns the partitions and
// the total.
func (f *fixture) showRuns(args ...string) (partitions []shown, total shown) {
	f.Helper()
	documented := runsFields(f.T)
	for line := range strings.Lines(f.verb(append([]string{"runs", "show", "-o", "json"}, args...)...)) {
		var s shown
		fields := make(map[string]json.RawMessage)
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			f.Fatal(err, line)
		}
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			f.Fatal(err)
		}
		for name := range fields {
			if name != "type" && !slices.Contains(documented[s.Type], name) {
				f.Errorf("the document does not have the field %s of %s", name, s.Type)
			}
		}
		if s.Type == "total" {
			total = s
			continue
		}
		partitions = append(partitions, s)
	}
	if total.Type == "" {
		f.Fatal("there is no total")
	}
	return partitions, total
}

// runsFields are the names in docs/command-line.md, by type.
func runsFields(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("../docs/command-line.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## What waits in runs\n")
	section, _, _ = strings.Cut(section, "\n### ")
	out := make(map[string][]string)
	for _, row := range regexp.MustCompile("(?m)^\\| `(partition|total)` \\|[^|]*\\|(.*)\\|$").FindAllStringSubmatch(section, -1) {
		for _, name := range regexp.MustCompile("`([a-z_0-9]+)`").FindAllStringSubmatch(row[2], -1) {
			out[row[1]] = append(out[row[1]], name[1])
		}
	}
	if len(out) != 2 {
		t.Fatalf("the document has fields of %v", slices.Collect(maps.Keys(out)))
	}
	return out
}

// metric returns the value of a series without labels, or with the ingress topic's alone.
func (f *fixture) metric(p *process, name string) string {
	f.Helper()
	_, text := p.get("/metrics")
	for line := range strings.Lines(text) {
		series, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if series == name || series == fmt.Sprintf("%s{topic=%q}", name, f.ingress) {
			return value
		}
	}
	f.Errorf("there is no metric %s", name)
	return ""
}

// TestWhatAUserSeesOfRuns: the verb, /status, metrics, page and kcat agree, with nothing in runs and with
// something.
func TestWhatAUserSeesOfRuns(t *testing.T) {
	long(t)
	t.Parallel()
	if _, err := exec.LookPath("kcat"); err != nil {
		t.Skip("skipped: kcat is not installed")
	}
	const far, partitions = 3_700, 2
	f := onSharedBroker(t, partitions)
	p := f.layover("LAYOVER_MAX_PARKED_BYTES=4Mi", "LAYOVER_LANES=1")
	p.usesRuns()
	f.documentsEachMetric(p)
	parts, total := f.showRuns()
	if len(parts) != partitions || total.Copies != 0 || total.Safe == nil || !*total.Safe || len(total.Missing) > 0 {
		t.Errorf("with nothing: %+v, %+v", parts, total)
	}
	printed := f.verb("runs", "show")
	if strings.Count(printed, " is empty, log end 0; commit: ") != partitions || !strings.Contains(printed, "\nA downgrade is safe") {
		t.Errorf("with nothing it prints\n%s", printed)
	}
	l := f.newLedger()
	f.produce(l.within("far", far, 3*time.Hour, 4*time.Hour)...)
	var s status
	eventually(t, 30*time.Second, "some are moved and the commit says so", func() bool {
		s = p.status()
		parts, total = f.showRuns()
		return s.Runs.Moved > 0 && s.Runs.Moving == 0 && s.Parked.Records+s.Runs.Moved == far && total.Copies == s.Runs.Moved && s.Runs.waiting() == total.Copies &&
			!slices.ContainsFunc(parts, func(s shown) bool { return s.Copies > 0 && (s.Commit == nil || !s.Commit.Holds || s.Exact) })
	})
	if total.Safe == nil || *total.Safe || len(total.Missing) != 1 || f.metric(p, "layover_runs_records") != fmt.Sprint(total.Copies) ||
		f.metric(p, "layover_runs_bytes") != fmt.Sprint(total.Bytes) || f.metric(p, "layover_runs_runs") != fmt.Sprint(total.Runs) {
		t.Errorf("%+v, but /status has %d, and metrics %s, %s bytes, %s runs", total, s.Runs.waiting(),
			f.metric(p, "layover_runs_records"), f.metric(p, "layover_runs_bytes"), f.metric(p, "layover_runs_runs"))
	}
	if _, exact := f.showRuns("--exact"); exact.Copies != s.Runs.Moved || !exact.Exact {
		t.Errorf("--exact counts %+v of %d", exact, s.Runs.Moved)
	}
	one, of := f.showRuns("--partition", "1")
	if len(one) != 1 || one[0].Partition != 1 || of.Copies != one[0].Copies || one[0].Within["1h"] != 0 || one[0].Within["1d"] != one[0].Copies {
		t.Errorf("--partition 1: %+v, %+v", one, of)
	}
	f.pageHas(p, `id="runs"`, "wait in runs topics", strings.TrimSuffix(f.runs(), ".runs"))
	f.readsWithKcat(l, parts, s.Runs.Moved)
	if out := f.verb("doctor"); !containsAll(out, []string{"ok       acl-runs: ", "ok       runs-settings: runs topic " + f.runs() + " deletes nothing by itself"}) {
		t.Errorf("the doctor says\n%s", out)
	}
	p.terminate()
}

// pageHas holds the page to words.
func (f *fixture) pageHas(p *process, words ...string) {
	f.Helper()
	req, err := http.NewRequestWithContext(f.Context(), http.MethodGet, "http://"+p.http+"/status", nil)
	if err != nil {
		f.Fatal(err)
	}
	req.Header.Set("Accept", "text/html")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		f.Fatal(err)
	}
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	if err != nil || !containsAll(string(page), words) {
		f.Errorf("the page, %v, has not all of %q:\n%s", err, words, page)
	}
}

// documentsEachMetric holds the metrics of runs to docs/operating.md, both ways.
func (f *fixture) documentsEachMetric(p *process) {
	f.Helper()
	text, err := os.ReadFile("../docs/operating.md")
	if err != nil {
		f.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n### Records in runs\n")
	section, _, _ = strings.Cut(section, "\n### ")
	names := func(text string) []string {
		all := regexp.MustCompile(`\blayover_(runs|lost_from_runs)_[a-z_]+\b`).FindAllString(text, -1)
		slices.Sort(all)
		return slices.Compact(all)
	}
	_, metrics := p.get("/metrics")
	var there []string
	for line := range strings.Lines(metrics) {
		if help, is := strings.CutPrefix(line, "# TYPE "); is {
			there = append(there, names(help)...)
		}
	}
	slices.Sort(there)
	if documented := names(section); !slices.Equal(documented, there) {
		f.Errorf("docs/operating.md has %q, and /metrics %q", documented, there)
	}
}

// readsWithKcat reads the runs topic with the command of docs/runs.md: each copy has the key and the headers
// of its record, and one more. Records without it are directories.
func (f *fixture) readsWithKcat(l *ledger, parts []shown, copies int64) {
	f.Helper()
	text, err := os.ReadFile("../docs/runs.md")
	if err != nil {
		f.Fatal(err)
	}
	command := regexp.MustCompile(`(?m)^    (kcat .*)$`).FindStringSubmatch(string(text))
	if command == nil {
		f.Fatal("docs/runs.md has no command of kcat")
	}
	line := strings.NewReplacer("localhost:9092", f.broker.addr, "delayed.layover-delayed.runs", f.runs()).Replace(command[1])
	out, err := exec.CommandContext(f.Context(), "bash", "-c", line).Output()
	if err != nil {
		f.Fatal(line, err)
	}
	found, all := int64(0), int64(0)
	for _, p := range parts {
		all += p.LogEnd - p.LogStart
	}
	for _, key := range regexp.MustCompile(`far-[0-9]+ `).FindAll(out, -1) {
		id := string(bytes.TrimSpace(key))
		want := fmt.Appendf(nil, "%s %s=%s,x-deliver-at=%d,layover-run=", id, l.sent[id].Headers[0].Key, l.sent[id].Headers[0].Value, l.due[id].UnixMilli())
		if !bytes.Contains(out, want) {
			f.Fatalf("kcat does not print %q", want)
		}
		found++
	}
	if found != copies || all <= copies || all > copies+10 {
		f.Errorf("kcat prints %d of %d copies, and the log has %d records", found, copies, all)
	}
}
