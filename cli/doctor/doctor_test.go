package doctor

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"go.uber.org/goleak"

	"layover/cli/clitest"
	"layover/cli/process"
	"layover/cluster/doctor"
	"layover/verify/kafkatest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// environ are settings for brokers, and others besides.
func environ(brokers string, more ...string) []string {
	return append([]string{"KAFKA_BROKERS=" + brokers, "LAYOVER_INGRESS_TOPICS=delayed", "LAYOVER_EGRESS_TOPIC=ready", "LAYOVER_DLQ_TOPIC=dead", "LAYOVER_HTTP_ADDR=127.0.0.1:0"}, more...)
}

// TestTheDocumentHasEachCheckInItsOrder: ids are documented, and stay.
func TestTheDocumentHasEachCheckInItsOrder(t *testing.T) {
	doc, err := os.ReadFile("../../docs/doctor.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(doc), "## The checks")
	var ids []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\|").FindAllStringSubmatch(table, -1) {
		ids = append(ids, row[1])
	}
	if !slices.Equal(ids, doctor.IDs()) {
		t.Errorf("docs/doctor.md has %v\nthere are %v", ids, doctor.IDs())
	}
}

func TestExitCodesAreThoseOfTheFindings(t *testing.T) {
	k := kafkatest.Start(t, 1, kfake.SeedTopics(1, "delayed", "ready", "dead"))
	for name, c := range map[string]struct {
		environ []string
		args    []string
		code    int
		stdout  string
		stderr  string
	}{
		"nothing failed":    {environ(k.Addr()), nil, process.ExitOK, " 1 ok       broker-names: " + k.Addr(), ""},
		"a warning":         {environ(k.Addr(), "LAYOVER_LANE=1"), nil, process.ExitOK, "warn     settings: unknown variable LAYOVER_LANE is ignored", ""},
		"a missing topic":   {environ(k.Addr(), "LAYOVER_EGRESS_TOPIC=redy"), nil, process.ExitRuntime, "fail     topics: target redy does not exist, the nearest name is ready\n            why: ", ""},
		"a wrong setting":   {environ(k.Addr(), "LAYOVER_LANES=x"), nil, process.ExitUsage, "", "LAYOVER_LANES: "},
		"a wrong flag":      {environ(k.Addr()), []string{"--all"}, process.ExitUsage, "", "unknown flag: --all"},
		"an operand":        {environ(k.Addr()), []string{"topics"}, process.ExitUsage, "", "unknown command"},
		"a wrong form":      {environ(k.Addr()), []string{"-o", "yaml"}, process.ExitUsage, "", "want text or json"},
		"a missing file":    {environ(k.Addr()), []string{"--env-file", "absent"}, process.ExitUsage, "", "absent"},
		"no broker answers": {environ("127.0.0.1:1"), nil, process.ExitRuntime, "fail     broker-answers: no broker answers at 127.0.0.1:1: ", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := clitest.Call{Args: c.args, Environ: c.environ}.Do(t, Command)
			if got.Code != c.code || !strings.Contains(got.Stdout, c.stdout) || !strings.Contains(got.Stderr, c.stderr) || (c.stderr == "") != (got.Stderr == "") || (c.stdout == "") != (got.Stdout == "") {
				t.Errorf("%+v\nwant %+v", got, c)
			}
		})
	}
}

func TestMachinesGetOneArray(t *testing.T) {
	k := kafkatest.Start(t, 1, kfake.SeedTopics(1, "delayed", "ready", "dead"))
	got := clitest.Call{Args: []string{"-o", "json"}, Environ: environ(k.Addr())}.Do(t, Command)
	var all []map[string]string
	if err := json.Unmarshal([]byte(got.Stdout), &all); err != nil || strings.Count(got.Stdout, "\n") != 1 {
		t.Fatalf("%q: %v", got.Stdout, err)
	}
	var ids []string
	for _, one := range all {
		ids = append(ids, one["id"])
		for _, name := range []string{"id", "status", "found", "why"} {
			if one[name] == "" || len(one) != 5 {
				t.Errorf("%v", one)
			}
		}
	}
	if !slices.Equal(ids, doctor.IDs()) {
		t.Errorf("got %v", ids)
	}
}

// TestPeopleReadWhatIsBadAndASum: of a warning the reason and the remedy, of an unknown one
// the remedy, once; of the others neither.
func TestPeopleReadWhatIsBadAndASum(t *testing.T) {
	var out strings.Builder
	err := write(&out, []doctor.Finding{
		{ID: "a", Status: doctor.OK, Found: "fine", Why: "w", Fix: ""},
		{ID: "b", Status: doctor.Warn, Found: "odd", Why: "it matters", Fix: "do this\nor that"},
		{ID: "c", Status: doctor.Unknown, Found: "hidden", Why: "w", Fix: "allow it"},
		{ID: "d", Status: doctor.Unknown, Found: "hidden", Why: "w", Fix: "allow it"},
		{ID: "e", Status: doctor.Skipped, Found: "off", Why: "w", Fix: ""},
		{ID: "f", Status: doctor.Warn, Found: "odd", Why: "it matters", Fix: "do this\nor that"},
	})
	want := ` 1 ok       a: fine
 2 warn     b: odd
            why: it matters
            fix: do this
                 or that
 3 unknown  c: hidden
            fix: allow it
 4 unknown  d: hidden
 5 skipped  e: off
 6 warn     f: odd
            why: it matters
            fix: do this
                 or that

1 ok, 2 warnings, 2 unknown, 1 skipped
`
	if err != nil || out.String() != want {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// TestAnAnswerIsOnlyTakenFromALayover: whatever else listens there is no instance.
func TestAnAnswerIsOnlyTakenFromALayover(t *testing.T) {
	for name, c := range map[string]struct {
		code int
		body string
		ok   bool
	}{
		"a Layover":  {http.StatusOK, `{"group":{"id":"g"},"held":[],"assignments":[],"more":1}`, true},
		"a page":     {http.StatusOK, "<html>", false},
		"not found":  {http.StatusNotFound, "{}", false},
		"an ailment": {http.StatusInternalServerError, "{}", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(c.code)
				w.Write([]byte(c.body))
			}))
			defer s.Close()
			i, err := status(t.Context(), s.URL+"/status")
			if (err == nil) != c.ok || c.ok && i.Group.ID != "g" {
				t.Errorf("%+v, %v", i, err)
			}
		})
	}
}
