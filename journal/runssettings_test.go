package journal

import (
	"strings"
	"testing"
	"time"

	"layover/cluster/needs"
	"layover/config"
	"layover/offsets"
	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestASettingThatDeletesCopiesKeepsARunsTopicOutOfUse until it is mended: the line says
// that records are lost, and has the command.
func TestASettingThatDeletesCopiesKeepsARunsTopicOutOfUse(t *testing.T) {
	long.InChecks(t)
	for key, value := range map[string]string{"retention.ms": "604800000", "retention.bytes": "1000000", "cleanup.policy": "compact,delete"} {
		t.Run(key, func(t *testing.T) {
			inBubbleWithRuns(t, func(w *runsFixture) {
				w.run()
				w.used()
				was := w.is()
				for round := range 2 {
					w.set(runsName, key, value)
					time.Sleep(20 * time.Minute)
					if n := w.said("ERROR", "runs topic may delete copies", "lost", key+"="+value, "kafka-configs.sh --bootstrap-server $KAFKA_BROKERS --alter --entity-type topics --entity-name "+runsName+" --add-config "+key+"="+safe[key]); n != 2*round+1 {
						t.Errorf("round %d: said %d times", round, n)
					}
					want := was
					want.Usable = false
					if w.is() != want || w.view().State != "refused" || !strings.Contains(w.view().Warning, key+"="+value) {
						t.Errorf("round %d: heard %+v, view %+v", round, w.is(), w.view())
					}
					w.agrees()
					time.Sleep(20 * time.Minute)
					if n := w.said("ERROR"); n != 2*round+2 {
						t.Errorf("round %d: %d errors in 40 min, want 2 each", round, n)
					}
					w.set(runsName, key, safe[key])
					time.Sleep(2 * time.Minute)
					if n := w.said("INFO", "runs topic keeps copies again"); n != round+1 || w.is() != was || w.view().Warning != "" {
						t.Errorf("round %d, mended: said %d times, heard %+v, view %+v", round, n, w.is(), w.view())
					}
				}
				if n := w.said("WARN"); n > 0 || !w.last().Usable {
					t.Errorf("%d warnings, journal %+v", n, w.last())
				}
			})
		})
	}
}

// TestASecondSettingThatDeletesCopiesIsSaidAtOnce, and one that a broker does not tell of is
// no better.
func TestASecondSettingThatDeletesCopiesIsSaidAtOnce(t *testing.T) {
	inBubbleWithRuns(t, func(w *runsFixture) {
		w.run()
		w.used()
		w.set(runsName, "retention.ms", "1000")
		time.Sleep(2 * time.Minute)
		w.set(runsName, "retention.bytes", "1000")
		time.Sleep(2 * time.Minute)
		w.sayOnce("ERROR", "retention.ms=1000", "retention.bytes=1000")
		if n := w.said("ERROR"); n != 2 {
			t.Errorf("%d errors, want 2", n)
		}
		w.set(runsName, "retention.ms", "-1")
		w.set(runsName, "retention.bytes", "-1")
		time.Sleep(2 * time.Minute)
		if !w.is().Usable {
			t.Errorf("view %+v", w.view())
		}
		w.Answer(kmsg.DescribeConfigs, func(r kmsg.Request) kmsg.Response {
			resp := r.ResponseKind().(*kmsg.DescribeConfigsResponse)
			for _, resource := range r.(*kmsg.DescribeConfigsRequest).Resources {
				rr := kmsg.NewDescribeConfigsResponseResource()
				rr.ResourceName, rr.ResourceType = resource.ResourceName, resource.ResourceType
				resp.Resources = append(resp.Resources, rr)
			}
			return resp
		})
		time.Sleep(2 * time.Minute)
		if w.is().Usable || !strings.Contains(w.view().Warning, "cleanup.policy is not in the broker's answer") {
			t.Errorf("not told: heard %+v, view %+v", w.is(), w.view())
		}
	})
}

// TestASegmentThatIsTooLargeIsSaidAndARunsTopicUsed, as one whose batches are small.
func TestASegmentThatIsTooLargeIsSaidAndARunsTopicUsed(t *testing.T) {
	inBubbleWithRuns(t, func(w *runsFixture) {
		w.CreateTopic(runsName, 3, map[string]string{"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1", "segment.bytes": "1073741824", "max.message.bytes": "2000", "message.timestamp.type": "LogAppendTime"})
		w.run()
		w.used()
		if s := w.is(); s.MaxBytes != 1500 || w.j.MaxBatch(runsName) != 2000 {
			t.Errorf("heard %+v", s)
		}
		time.Sleep(3 * time.Minute)
		w.sayOnce("WARN", "runs topic has settings that do not suit it", "segment.bytes=1073741824 keeps delivered records on disk for longer", "max.message.bytes=2000 ",
			"--entity-name "+runsName+" --add-config segment.bytes=67108864,max.message.bytes=1114124")
		if n := w.said("ERROR"); n > 0 || strings.Contains(w.view().Warning, "timestamp") {
			t.Errorf("%d errors, view %+v", n, w.view())
		}
		w.set(runsName, "segment.bytes", "1048576") // smaller ones, and larger batches, are as good
		w.set(runsName, "max.message.bytes", "8000000")
		time.Sleep(2 * time.Minute)
		if w.view().Warning != "" || w.is().MaxBytes != 8000000-1024 {
			t.Errorf("heard %+v, view %+v", w.is(), w.view())
		}
	})
}

// TestARunsTopicThatWasMadeAsWePrintItSuits: by the command of layover topics, which is that of
// docs/runs.md, beside an ingress topic with Kafka's defaults.
func TestARunsTopicThatWasMadeAsWePrintItSuits(t *testing.T) {
	cfg, _, err := config.Load([]string{"KAFKA_BROKERS=kafka:9092", "LAYOVER_INGRESS_TOPICS=" + ingress, "LAYOVER_EGRESS_TOPIC=ready", "LAYOVER_DLQ_TOPIC=dead", "LAYOVER_GROUP_ID=layover"})
	if err != nil {
		t.Fatal(err)
	}
	inBubbleWithRuns(t, func(w *runsFixture) {
		for _, topic := range needs.Of(cfg).Topics {
			if topic.Name != runsName {
				continue
			}
			settings := make(map[string]string)
			for _, s := range topic.Config {
				settings[s.Name] = s.Value
			}
			w.CreateTopic(runsName, 3, settings)
		}
		w.run()
		w.used()
		time.Sleep(3 * time.Minute)
		if n := w.said("WARN"); n > 0 || w.said("INFO", "runs topic was made") > 0 {
			t.Errorf("%d warnings: %s", n, w.view().Warning)
		}
	})
}

// TestARunsTopicWhoseSettingsCannotBeReadIsNotUsed before they are; afterwards it is, with a
// line that its retention is not checked.
func TestARunsTopicWhoseSettingsCannotBeReadIsNotUsed(t *testing.T) {
	inBubbleWithRuns(t, func(w *runsFixture) {
		sick := w.Refuse(kmsg.DescribeConfigs, kfake.Fault{Resource: runsName, Err: kerr.TopicAuthorizationFailed})
		w.run()
		time.Sleep(20 * time.Minute)
		w.sayOnce("WARN", "so it is not used, and records that are due far off stay in memory", "allow DescribeConfigs on topic "+runsName)
		if s := w.is(); s.Usable || s.TopicID == (offsets.TopicID{}) || w.view().State != "forbidden" || !strings.Contains(w.view().Warning, "DescribeConfigs on topic "+runsName) {
			t.Errorf("heard %+v, view %+v", s, w.view())
		}
		w.agrees()
		time.Sleep(20 * time.Minute)
		if n := w.said("WARN"); n != 2 {
			t.Errorf("%d warnings in 40 min, want 2", n)
		}
		sick.Remove()
		w.used()
		again := w.Refuse(kmsg.DescribeConfigs, kfake.Fault{Resource: runsName, Err: kerr.TopicAuthorizationFailed})
		time.Sleep(5 * time.Minute)
		w.sayOnce("WARN", "cannot be read any more, so its retention is not checked")
		if !w.is().Usable || !strings.Contains(w.view().Warning, "DescribeConfigs") {
			t.Errorf("heard %+v, view %+v", w.is(), w.view())
		}
		again.Remove()
		time.Sleep(time.Minute)
		if v := w.view(); !w.is().Usable || v.Warning+v.Error != "" {
			t.Errorf("view %+v", v)
		}
	})
}

// TestARunsTopicHasWhatIsToldOfItsIngressTopicsSettings and nothing made up.
func TestARunsTopicHasWhatIsToldOfItsIngressTopicsSettings(t *testing.T) {
	for what, c := range map[string]struct {
		told map[string]string
		want string
	}{
		"both":              {map[string]string{"min.insync.replicas": "2", "max.message.bytes": "1000000"}, "min.insync.replicas=2 max.message.bytes=1065536 "},
		"others":            {map[string]string{"retention.ms": "5"}, ""},
		"none":              {nil, ""},
		"a size of nothing": {map[string]string{"max.message.bytes": "0"}, ""},
		"no number":         {map[string]string{"max.message.bytes": "1 MiB"}, ""},
		"too large a one":   {map[string]string{"max.message.bytes": "2147483648"}, ""},
		"a small one":       {map[string]string{"max.message.bytes": "1"}, "max.message.bytes=524288 "},
	} {
		got := ""
		for _, s := range likeIngress(c.told) {
			got += s.Name + "=" + s.Value + " "
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", what, got, c.want)
		}
	}
}
