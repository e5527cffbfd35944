package config

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestEverySettingMayBeInAFile(t *testing.T) {
	for _, s := range settingsOf(new(Config)) {
		t.Run(s.Variable, func(t *testing.T) {
			blank := " "
			if s.kind == "password" {
				blank = "" // it would belong to the value
			}
			want := mustLoad(t, alone(t, s.Variable, exampleOf(t, s)))
			got := mustLoad(t, append(companions(t, s.Variable), s.Variable+"=", s.File()+"=/v/"+blank+exampleOf(t, s)+"\n"))
			if !reflect.DeepEqual(literal(got), want) {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		})
	}
}

func TestAVariableAndItsFileAreNotSetTogether(t *testing.T) {
	wantProblem(t, minimal("LAYOVER_LANES=3", "LAYOVER_LANES_FILE=/v/3"), "LAYOVER_LANES", "LAYOVER_LANES_FILE", "unset the other")
	wantProblem(t, minimal("KAFKA_BROKERS_FILE=/none"), "KAFKA_BROKERS", "KAFKA_BROKERS_FILE", "unset the other")
	for _, empty := range []string{"", " ", "\n"} {
		if cfg := mustLoad(t, minimal("LAYOVER_LANES="+empty, "LAYOVER_LANES_FILE=/v/5")); cfg.Lanes != 5 {
			t.Errorf("beside %q: %d lanes, want those of the file", empty, cfg.Lanes)
		}
		if cfg := mustLoad(t, minimal("LAYOVER_LANES=5", "LAYOVER_LANES_FILE="+empty)); cfg.Lanes != 5 {
			t.Errorf("beside the file %q: %d lanes, want 5", empty, cfg.Lanes)
		}
	}
	mustLoad(t, minimal("LAYOVER_TARGETS_ALLOWED= , ", "LAYOVER_TARGETS_ALLOWED_FILE=/v/a"))
}

func TestAByteOrderMarkInFrontIsNoPartOfAFilesValue(t *testing.T) {
	if cfg := mustLoad(t, minimal("LAYOVER_LANES_FILE=/v/\xef\xbb\xbf4\r\n")); cfg.Lanes != 4 {
		t.Errorf("%d lanes, want 4", cfg.Lanes)
	}
	if cfg := mustLoad(t, minimal("LAYOVER_LANES_FILE=/v/\xef\xbb\xbf\n")); cfg.Lanes != 3 {
		t.Errorf("%d lanes of a file with a mark alone, want the default", cfg.Lanes)
	}
	wantProblem(t, minimal("LAYOVER_LANES_FILE=/v/4\xef\xbb\xbf"), "LAYOVER_LANES", "whole number")
}

func TestAnEmptyFileIsAnUnsetVariable(t *testing.T) {
	for _, empty := range []string{"", "\n", " \t\r\n"} {
		if cfg := mustLoad(t, minimal("LAYOVER_LANES_FILE=/v/"+empty)); cfg.Lanes != 3 {
			t.Errorf("%q: %d lanes, want the default", empty, cfg.Lanes)
		}
		wantProblem(t, minimal("KAFKA_BROKERS=", "KAFKA_BROKERS_FILE=/v/"+empty), "KAFKA_BROKERS", "required", "/v/", "KAFKA_BROKERS_FILE is empty")
	}
}

func TestWhatIsWrongWithAFileIsSaidWithItsPathAndOnce(t *testing.T) {
	wantProblem(t, minimal("KAFKA_BROKERS=", "KAFKA_BROKERS_FILE=/no\nne"), "KAFKA_BROKERS_FILE", `"/no\nne"`, "cannot be read")
	wantProblem(t, minimal("LAYOVER_EGRESS_TOPIC=", "LAYOVER_EGRESS_TOPIC_FILE=/none"), "LAYOVER_EGRESS_TOPIC_FILE", "cannot be read")
	wantProblem(t, minimal("LAYOVER_LANES_FILE=/v/65"), "LAYOVER_LANES", `"65"`, "1 to 64", `the file "/v/65" of LAYOVER_LANES_FILE`)
	wantProblem(t, minimal("LAYOVER_DEFAULT_DELAY_FILE=/v/31d"), "LAYOVER_DEFAULT_DELAY", `"31d" is above`)
	wantProblem(t, minimal("KAFKA_BROKERS=", "KAFKA_BROKERS_FILE=/v/me:hun,ter2@kafka:9092"), "KAFKA_BROKERS", "without a login")
	if p := problemsOf(t, minimal("LAYOVER_LANES_FILE=/none"))[0]; p.Example != "LAYOVER_LANES_FILE=/run/secrets/layover_lanes" {
		t.Errorf("the example is %q", p.Example)
	}
}

func TestProblemsOfFilesStandWhereThoseOfTheirVariablesDo(t *testing.T) {
	environ := []string{"KAFKA_BROKERS=b:1", "LAYOVER_INGRESS_TOPICS_FILE=/none", "LAYOVER_EGRESS_TOPIC=!", "LAYOVER_DLQ_TOPIC_FILE=/none", "LAYOVER_LANES=x"}
	var got []string
	for _, p := range problemsOf(t, environ) {
		got = append(got, p.Variable)
	}
	want := []string{"LAYOVER_INGRESS_TOPICS_FILE", "LAYOVER_EGRESS_TOPIC", "LAYOVER_DLQ_TOPIC_FILE", "LAYOVER_LANES"}
	if !slices.Equal(got, want) {
		t.Errorf("problems of %q, want %q", got, want)
	}
}

func TestRealFilesAreReadUpToTheirBound(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, size int) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(strings.Repeat(" ", size-1)+"7"), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	cfg, _, err := Load(minimal("LAYOVER_LANES_FILE=" + write("largest", 1<<20)))
	if err != nil || cfg.Lanes != 7 {
		t.Errorf("a file of 1 MiB: %+v, %v", cfg, err)
	}
	for path, reason := range map[string]string{
		write("larger", 1<<20+1):      "larger than 1048576 bytes",
		filepath.Join(dir, "missing"): "cannot be read: ",
		dir:                           "cannot be read: ",
	} {
		_, _, err := Load(minimal("LAYOVER_LANES_FILE=" + path))
		want := fmt.Sprintf("LAYOVER_LANES_FILE: the file %q ", path)
		if err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: got %v, want %q and %q", path, err, want, reason)
		}
	}
}

func TestAClientReadsTheFilesOfItsOwnSettingsAlone(t *testing.T) {
	got, _, err := loadClient([]string{"KAFKA_BROKERS_FILE=/v/a:1\n", "LAYOVER_INGRESS_TOPICS_FILE=/v/one,two", "LAYOVER_HTTP_ADDR_FILE=/v/:1", "LAYOVER_LANES_FILE=/none"}, host)
	if want := (Client{kafkaOf("a:1"), "one", ":1"}); err != nil || !reflect.DeepEqual(*got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	if _, _, err := loadClient([]string{"KAFKA_BROKERS_FILE=/none"}, host); err == nil || !strings.HasPrefix(err.Error(), "KAFKA_BROKERS_FILE: ") {
		t.Errorf("a file that is not there: %v", err)
	}
	path := filepath.Join(t.TempDir(), "brokers")
	if err := os.WriteFile(path, []byte("b:2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, _, err := LoadClient([]string{"KAFKA_BROKERS_FILE=" + path}); err != nil || !slices.Equal(got.Kafka.Brokers, []string{"b:2"}) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestAMisspeltFileVariableIsComparedWithThoseToo(t *testing.T) {
	for name, want := range map[string]string{
		"LAYOVER_EGRES_TOPIC_FILE": "LAYOVER_EGRESS_TOPIC_FILE",
		"LAYOVER_BROKERS_FILE":     "KAFKA_BROKERS_FILE",
		"LAYOVER_LANE_FILE":        "LAYOVER_LANES_FILE",
		"LAYOVER_GROUP_FILE":       "LAYOVER_GROUP_ID_FILE",
		"LAYOVER_LANES_FIL":        "LAYOVER_LANES",
	} {
		warnings := unknownNames(map[string]string{name: "/run/hunter2"})
		if len(warnings) != 1 || !strings.HasSuffix(warnings[0], " "+want) || strings.Contains(warnings[0], "hunter2") {
			t.Errorf("%s: got %q, want %s", name, warnings, want)
		}
	}
	for _, name := range []string{"LAYOVER_FOO_FILE", "LAYOVER_X_FILE", "LAYOVER_FILE", "LAYOVER__FILE"} {
		if got := unknownNames(map[string]string{name: "x"}); len(got) != 1 || !strings.HasSuffix(got[0], "no known name is near it") {
			t.Errorf("%s: got %q", name, got)
		}
	}
	if got := unknownNames(map[string]string{"LAYOVER_LANES_FILE": "x", "KAFKA_BROKERS_FILE": "x"}); len(got) > 0 {
		t.Errorf("got %q", got)
	}
}
