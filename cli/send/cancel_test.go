package send

import (
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
	"layover/delay"
)

func cancelHeaders(id, of string, more ...kgo.RecordHeader) []kgo.RecordHeader {
	headers := append(more, kgo.RecordHeader{Key: "x-delay-id", Value: []byte(id)}, kgo.RecordHeader{Key: "x-delay-cancel", Value: []byte("true")})
	if of != "" {
		headers = append(headers, kgo.RecordHeader{Key: "layover-cancel-of", Value: []byte(of)})
	}
	return headers
}

func TestACancelIsWrittenToEveryPartition(t *testing.T) {
	cluster, environ := startKafka(t, 3)
	before := time.Now().Truncate(time.Millisecond)
	got := clitest.Call{Environ: environ, Args: []string{"order 17", "--header", "a=b"}}.Do(t, Cancel)
	after := time.Now()
	if want := "delayed-0-0\ndelayed-1-0\ndelayed-2-0\n"; got.Code != process.ExitOK || got.Stderr != "" || got.Stdout != want {
		t.Fatalf("got %+v, want %q", got, want)
	}
	records := written(cluster)
	want := cancelHeaders("order 17", "order 17/3", kgo.RecordHeader{Key: "a", Value: []byte("b")})
	for p := range 3 {
		r := records[fmt.Sprintf("delayed-%d-0", p)]
		if r == nil || !reflect.DeepEqual(r.Headers, want) || r.Key != nil || r.Value != nil || r.Timestamp.Before(before) || r.Timestamp.After(after) {
			t.Errorf("partition %d has %+v, want headers %q", p, r, want)
		}
	}
	if len(records) != 3 {
		t.Errorf("%d records", len(records))
	}
}

func TestACancelOfOnePartitionIsOneOfNone(t *testing.T) {
	for name, test := range map[string]struct {
		partitions int32
		args       []string
		printed    string
		key        []byte
	}{
		"a partition":              {3, []string{"--partition", "2"}, "delayed-2-0\n", nil},
		"the first partition":      {3, []string{"--partition=0"}, "delayed-0-0\n", nil},
		"a key":                    {12, []string{"--key", "abc"}, "delayed-3-0\n", []byte("abc")}, // 479470107 % 12, by Kafka's test
		"a key, one partition":     {1, []string{"--key", ""}, "delayed-0-0\n", []byte{}},
		"a topic with one":         {1, nil, "delayed-0-0\n", nil},
		"the one that a topic has": {1, []string{"--partition", "0"}, "delayed-0-0\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			cluster, environ := startKafka(t, test.partitions)
			got := clitest.Call{Environ: environ, Args: append(test.args, "a")}.Do(t, Cancel)
			if got.Code != process.ExitOK || got.Stderr != "" || got.Stdout != test.printed {
				t.Fatalf("got %+v, want %q", got, test.printed)
			}
			for id, r := range written(cluster) {
				if id+"\n" != test.printed || !reflect.DeepEqual(r.Headers, cancelHeaders("a", "")) || !reflect.DeepEqual(r.Key, test.key) {
					t.Errorf("%s: %+v", id, r)
				}
			}
		})
	}
}

// A key takes a cancel to the record that send wrote with it.
func TestACancelWithTheKeyOfARecordMeetsIt(t *testing.T) {
	_, environ := startKafka(t, 12)
	for _, key := range []string{"a", "b", "c", "größe", ""} {
		sent := clitest.Call{Environ: environ, Args: []string{"--delay", "1h", "--id", "i", "--key", key, "v"}}.Do(t, Command)
		cancelled := clitest.Call{Environ: environ, Args: []string{"--key", key, "i"}}.Do(t, Cancel)
		record, _, _ := strings.Cut(sent.Stdout, " ")
		of := func(id string) string { return id[:strings.LastIndexByte(id, '-')] }
		if sent.Code != process.ExitOK || cancelled.Code != process.ExitOK || of(record) != of(strings.TrimSpace(cancelled.Stdout)) {
			t.Errorf("key %q: sent %+v, cancelled %+v", key, sent, cancelled)
		}
	}
}

func TestCancelPrintsAnObjectForEachCancelToMachines(t *testing.T) {
	_, environ := startKafka(t, 2)
	got := clitest.Call{Environ: environ, Args: []string{"-o", "json", "--", "-17"}}.Do(t, Cancel)
	var want []map[string]any
	for p := range 2 {
		want = append(want, map[string]any{"topic": "delayed", "partition": float64(p), "offset": 0.0, "id": fmt.Sprintf("delayed-%d-0", p), "delay_id": "-17"})
	}
	if all := clitest.Objects(t, got.Stdout); got.Code != process.ExitOK || !reflect.DeepEqual(all, want) {
		t.Errorf("got %+v, want %v", got, want)
	}
}

func TestAPartitionThatTakesNoCancelDoesNotKeepOthersFromTheirs(t *testing.T) {
	cluster, environ := startKafka(t, 4)
	cluster.Refuse(kmsg.Produce, kfake.Fault{Partitions: []int32{1}, Err: kerr.TopicAuthorizationFailed, Count: -1})
	got := clitest.Call{Environ: environ, Args: []string{"a"}}.Do(t, Cancel)
	if got.Code != process.ExitRuntime || got.Stdout != "delayed-0-0\ndelayed-2-0\ndelayed-3-0\n" ||
		!strings.Contains(got.Stderr, `topic "delayed": the cancel to partition 1 was not written, of 4; those that are printed were: TOPIC_AUTHORIZATION_FAILED`) {
		t.Errorf("got %+v", got)
	}
	if n := len(written(cluster)); n != 3 {
		t.Errorf("%d written", n)
	}
}

func TestOfManyPartitionsWithoutACancelTenAreNamed(t *testing.T) {
	cluster, environ := startKafka(t, 13)
	cluster.Refuse(kmsg.Produce, kfake.Fault{Err: kerr.TopicAuthorizationFailed, Count: -1})
	got := clitest.Call{Environ: environ, Args: []string{"a"}}.Do(t, Cancel)
	if got.Code != process.ExitRuntime || got.Stdout != "" ||
		!strings.Contains(got.Stderr, "13 of 13 cancels were not written, to the partitions 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 3 more; those that are printed were: TOPIC_AUTHORIZATION_FAILED") {
		t.Errorf("got %+v", got)
	}
}

func TestWrongUsageOfCancel(t *testing.T) {
	for name, test := range map[string]struct {
		args    string // split at spaces; ~ is an empty one
		environ []string
		stderr  string
	}{
		"no id":                   {"", someKafka, "an id is missing"},
		"two ids":                 {"a b", someKafka, "one id is wanted, not 2"},
		"an empty id":             {"~", someKafka, `id "": no value; want 1 to 256 bytes of UTF-8 without control characters`},
		"an id with a tab":        {"a\tb", someKafka, `id "a\x09b": a control character in it`},
		"an id too long":          {strings.Repeat("i", 257), someKafka, "too long"},
		"a negative partition":    {"a --partition -1", someKafka, "--partition -1: want 0 or more"},
		"no partition":            {"a --partition x", someKafka, "--partition"},
		"a partition and a key":   {"a --partition 0 --key k", someKafka, "--partition and --key are two places: give one"},
		"an id by hand":           {"a --header X-Delay-ID=b", someKafka, "use those"},
		"a cancel by hand":        {"a --header x-delay-cancel=true", someKafka, "this header is written by layover cancel"},
		"a delay":                 {"a --header x-delay=5s", someKafka, "use those"},
		"a header without a name": {"a --header =v", someKafka, "NAME=VALUE"},
		"a mapped header":         {"a --header X-Run-At=5", append([]string{"LAYOVER_HEADER_MAP=x-run-at=epoch_s"}, someKafka...), "a control header by LAYOVER_HEADERS or LAYOVER_HEADER_MAP here"},
		"a delay of send":         {"a --delay 5s", someKafka, "--delay"},
		"no brokers":              {"a --topic t", nil, "KAFKA_BROKERS"},
		"no topic":                {"a --brokers b:1", nil, "LAYOVER_INGRESS_TOPICS"},
		"two topics":              {"a --topic b,c", someKafka, "one topic"},
	} {
		t.Run(name, func(t *testing.T) {
			var args []string
			for _, arg := range strings.Split(test.args, " ") {
				if arg != "" {
					args = append(args, strings.ReplaceAll(arg, "~", ""))
				}
			}
			got := clitest.Call{Args: args, Environ: test.environ}.Do(t, Cancel)
			if got.Code != process.ExitUsage || got.Stdout != "" || !strings.Contains(got.Stderr, test.stderr) {
				t.Errorf("got %+v, want %q", got, test.stderr)
			}
		})
	}
}

func TestWhatACancelMissesIsNamed(t *testing.T) {
	_, environ := startKafka(t, 3)
	for name, test := range map[string]struct {
		args   []string
		stderr string
	}{
		"the topic":     {[]string{"--topic", "nope", "a"}, `topic "nope" does not exist`},
		"the partition": {[]string{"--partition", "3", "a"}, `--partition 3: topic "delayed" has the partitions 0 to 2`},
	} {
		if got := (clitest.Call{Environ: environ, Args: test.args}).Do(t, Cancel); got.Code != process.ExitRuntime || got.Stdout != "" || !strings.Contains(got.Stderr, test.stderr) {
			t.Errorf("%s: got %+v, want %q", name, got, test.stderr)
		}
	}
}

func TestCancelWarnsOnceOfATopicThatIsNotRead(t *testing.T) {
	_, environ := startKafka(t, 3)
	got := clitest.Call{Environ: append(environ, "LAYOVER_INGRESS_TOPICS=orders", "LAYOVER_DEFAULT_DELAY=9d"), Args: []string{"--topic", "delayed", "a"}}.Do(t, Cancel)
	if got.Code != process.ExitOK || strings.Count(got.Stderr, "warning: ") != 1 || !strings.Contains(got.Stderr, "LAYOVER_INGRESS_TOPICS does not have delayed") {
		t.Errorf("got %+v", got)
	}
}

// What cancel writes is a cancel to the server, whatever its settings.
func FuzzCancelCommandLine(f *testing.F) {
	for _, line := range []string{"a", "a b", "", "~", "-- -1", "--partition 3 a", "--key k a", "--key k --partition 1 a", "a --header a=b", "a --header x-delay=5", "a --header layover-cancel-of=a/3", "größe", "a\tb", "--partition 2147483648 a"} {
		f.Add(strings.ReplaceAll(strings.ReplaceAll(line, " ", "\x00"), "~", ""), int32(3))
	}
	targets, err := delay.NewTargets("", nil, nil, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, line string, has int32) {
		if strings.Contains(line, "env-file") || has < 1 || has > 1000 {
			t.Skip("files of this machine, or no topic")
		}
		args := strings.Split(line, "\x00")
		o, err := parseCancel(&process.Process{Args: args, Environ: someKafka})
		if err != nil {
			return
		}
		partitions, err := o.partitions(has)
		if err != nil {
			if o.partition < has {
				t.Fatalf("%q: %v", args, err)
			}
			return
		}
		for i, p := range partitions {
			if p < 0 || p >= has || o.partition == everywhere && o.key == nil && (int(p) != i || len(partitions) != int(has)) {
				t.Fatalf("%q: partitions %v of %d", args, partitions, has)
			}
		}
		rules := delay.Rules{MaxDelay: 1, DefaultDelay: time.Hour, ExpireAfter: time.Hour, Targets: targets}
		d, invalid := rules.Parse(&kgo.Record{Headers: append(o.headers, delay.CancelHeaders(o.id, len(partitions))...)}, 1)
		if invalid != nil || !d.Cancel || string(d.ID) != o.id || d.CancelOf != (len(partitions) > 1) {
			t.Fatalf("%q: the server reads %+v, %v", args, d, invalid)
		}
	})
}
