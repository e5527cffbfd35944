package doctor

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"layover/cluster"
	"layover/cluster/needs"
	"layover/config"
)

// configChecks are about the configurations of topics.
func configChecks() []check {
	return []check{
		{"retention", contact, "a parked record is in its ingress topic alone until it is moved: if that deletes it before a restart has read it again, it is lost", retention},
		{"compaction", contact, "a compacted ingress topic deletes a parked record as soon as its key comes again, and a compacted dead-letter or events topic refuses records without a key", compaction},
		{"runs-settings", contact, "a record that was moved is in the runs topic alone: if that deletes it, it is lost", runsSettings},
		{"timestamps", contact, "a delay counts from the record's own timestamp", timestamps},
		{"message-size", contact, "a record that the ingress topic took and its target refuses is a dead letter", messageSize},
	}
}

// number returns a value that is a number; 0 where it is not known.
func (v values) number(name string) int64 {
	n, err := strconv.ParseInt(v.of[name], 10, 64)
	if v.err != nil || err != nil {
		return 0
	}
	return n
}

// eachConfig calls judge with the configuration of each topic that is there. One that is
// not known is unknown.
func (f *facts) eachConfig(v *verdicts, topics []use, what string, judge func(u use, values map[string]string)) {
	for _, u := range topics {
		c := f.configs[u.topic]
		switch {
		case cluster.IsMissing(f.topics[u.topic].err):
			v.add(Skipped, "", "%s does not exist", u.topic)
		case c.err != nil:
			*v = append(*v, f.unknownBy(c.err, what+" of "+u.topic))
		default:
			judge(u, c.of)
		}
	}
}

// faults judges the faults of ingress topics that are about some of the settings, which
// have to be told.
func (f *facts) faults(what string, about func(name string) bool, told func(values map[string]string) bool, fine func(u use, values map[string]string) string) (v verdicts) {
	f.eachConfig(&v, usesAs(f.settings, ingressTopic), what, func(u use, values map[string]string) {
		well := true
		moved, see := f.moved(u.topic)
		for _, fault := range cluster.RetentionFaults(values, f.settings.MaxDelay, moved) {
			if !about(fault.Name) {
				continue
			}
			well = false
			status := Warn
			if fault.Short || fault.Name == "cleanup.policy" {
				status = Fail
			}
			fix := f.alterTopic(u.topic, fault.Name+"="+fault.Want)
			if fault.Name == "retention.ms" && see != "" {
				fix += "\nor mend what " + see + " has found: six hours do where far-off records are moved"
			}
			if fault.Name == "retention.ms" && !moved {
				fix += "\nor lower LAYOVER_MAX_DELAY, which is " + config.FormatDuration(f.settings.MaxDelay)
			}
			v.add(status, fix, "%s: %s", u.topic, fault.Found)
		}
		if well && !told(values) {
			v.add(Unknown, "", "%s of %s is not told", what, u.topic)
		} else if well {
			v.add(OK, "", "%s", fine(u, values))
		}
	})
	return v
}

func retention(f *facts) verdict {
	return f.faults("retention.ms", func(name string) bool { return name != "cleanup.policy" }, keepsTold, func(u use, values map[string]string) string {
		if moved, _ := f.moved(u.topic); moved {
			return fmt.Sprintf("%s keeps records %s, and six hours do, as far-off ones are moved, but for those with an id", u.topic, keeps(values))
		}
		return fmt.Sprintf("%s keeps records %s, and the longest delay is %s", u.topic, keeps(values), config.FormatDuration(f.settings.MaxDelay))
	}).worst()
}

// keepsTold reports whether the values say how long a topic keeps its records. One that
// deletes nothing needs no limits.
func keepsTold(values map[string]string) bool {
	if policy, told := values["cleanup.policy"]; told && policy == "" {
		return true
	}
	_, ms := strconv.ParseInt(values["retention.ms"], 10, 64)
	_, bytes := strconv.ParseInt(values["retention.bytes"], 10, 64)
	return ms == nil && bytes == nil
}

// keeps says how long a topic keeps its records.
func keeps(values map[string]string) string {
	ms, err := strconv.ParseInt(values["retention.ms"], 10, 64)
	policy, told := values["cleanup.policy"]
	switch {
	case told && policy == "":
		return "for ever"
	case err != nil || ms < 0:
		return "for ever"
	}
	return "for " + config.FormatDuration(milliseconds(ms))
}

// milliseconds returns a duration, at most the longest there is.
func milliseconds(ms int64) time.Duration {
	return time.Duration(min(ms, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
}

func compaction(f *facts) verdict {
	const setting = "cleanup.policy"
	v := f.faults(setting, func(name string) bool { return name == setting }, func(values map[string]string) bool {
		_, told := values[setting]
		return told
	}, func(u use, values map[string]string) string {
		return fmt.Sprintf("%s has cleanup.policy=%s", u.topic, clean(values[setting]))
	})
	// A dead letter keeps the key of its record. That of an event is the record's id, which every command has.
	keyless := map[role]string{deadLetterTopic: "a dead letter without a key"}
	if f.settings.OnExpired == config.OnExpiredDrop {
		keyless[eventsTopic] = "the event of an expired record without an id"
	}
	f.eachConfig(&v, usesAs(f.settings, deadLetterTopic, eventsTopic), setting, func(u use, values map[string]string) {
		switch policy, told := values[setting]; {
		case !told:
			v.add(Unknown, "", "%s of %s is not told", setting, u.topic)
		case strings.Contains(policy, "compact") && keyless[u.role] != "":
			v.add(Warn, f.alterTopic(u.topic, setting+"=delete"), "%s has cleanup.policy=%s and refuses %s", u.topic, clean(policy), keyless[u.role])
		default:
			v.add(OK, "", "%s has cleanup.policy=%s", u.topic, clean(policy))
		}
	})
	return v.worst()
}

// runsSettings compares with the configuration by which Layover alone deletes moved records.
// Layover needs no right to read that of former runs.
func runsSettings(f *facts) verdict {
	topics := slices.DeleteFunc(usesAs(f.settings, runsTopic, formerRuns), func(u use) bool { return u.role == formerRuns && cluster.Denied(f.configs[u.topic].err) })
	var v verdicts
	f.eachConfig(&v, topics, "settings", func(u use, values map[string]string) {
		bad, told := 0, 0
		for _, want := range needs.RunsConfig() {
			value, there := values[want.Name]
			if !there {
				continue
			}
			told++
			if status := runsSetting(want, value); status != OK {
				bad++
				v.add(status, f.alterTopic(u.topic, want.Name+"="+want.Value), "%s %s: %s=%s %s", u.role, u.topic, want.Name, clean(value), want.Else)
			}
		}
		switch {
		case bad > 0:
		case told < len(needs.RunsConfig()):
			v.add(Unknown, "", "settings of %s are not told", u.topic)
		default:
			v.add(OK, "", "%s %s deletes nothing by itself", u.role, u.topic)
		}
	})
	if len(v) == 0 {
		return skipped("nothing is moved, and there is no runs topic")
	}
	return v.worst()
}

// runsSetting judges one value. Smaller segments free the disk earlier.
func runsSetting(want needs.Setting, value string) Status {
	n, err := strconv.ParseInt(value, 10, 64)
	switch {
	case needs.MayDelete(want.Name, value):
		return Fail
	case want.Name == "segment.bytes" && (err != nil || n > needs.RunsSegmentBytes):
		return Warn
	}
	return OK
}

const (
	createTime    = "CreateTime"
	logAppendTime = "LogAppendTime"
)

// timestamps: either type is fine for an ingress topic. A target matters where delivered
// records keep their timestamps.
func timestamps(f *facts) verdict {
	var v verdicts
	f.eachConfig(&v, usesAs(f.settings, ingressTopic), "message.timestamp.type", func(u use, values map[string]string) {
		switch kind := values["message.timestamp.type"]; kind {
		case createTime:
			v.add(OK, "", "%s has CreateTime: a delay counts from the producer's clock", u.topic)
		case logAppendTime:
			v.add(OK, "", "%s has LogAppendTime: a delay counts from the broker's clock at its arrival", u.topic)
		default:
			v.add(Unknown, "", "%s has message.timestamp.type=%q", u.topic, clean(kind))
		}
	})
	if f.settings.Timestamp == config.TimestampOriginal {
		f.eachConfig(&v, usesAs(f.settings, targetTopic, allowedTopic), "message.timestamp.type", func(u use, values map[string]string) { f.keepsTimestamps(&v, u, values) })
	}
	return v.worst()
}

// keepsTimestamps: with LAYOVER_TIMESTAMP=original a delivered record is as old as its
// delay.
func (f *facts) keepsTimestamps(v *verdicts, u use, values map[string]string) {
	before, err := strconv.ParseInt(values["message.timestamp.before.max.ms"], 10, 64)
	switch kind := values["message.timestamp.type"]; {
	case kind != createTime && kind != logAppendTime:
		v.add(Unknown, "", "%s has message.timestamp.type=%q", u.topic, clean(kind))
	case kind == logAppendTime:
		v.add(Warn, f.alterTopic(u.topic, "message.timestamp.type=CreateTime"), "%s has LogAppendTime, and replaces the timestamps that LAYOVER_TIMESTAMP=original keeps", u.topic)
	case err == nil && milliseconds(before) < f.settings.MaxDelay:
		v.add(Warn, f.alterTopic(u.topic, fmt.Sprintf("message.timestamp.before.max.ms=%d", (f.settings.MaxDelay+24*time.Hour).Milliseconds())),
			"%s has message.timestamp.before.max.ms=%d: with LAYOVER_TIMESTAMP=original it refuses records of longer delays", u.topic, before)
	default:
		v.add(OK, "", "%s takes the records' own timestamps", u.topic)
	}
}

// messageSize compares with the largest ingress topic.
func messageSize(f *facts) verdict {
	const setting = "max.message.bytes"
	var v verdicts
	largest, of := int64(0), ""
	f.eachConfig(&v, usesAs(f.settings, ingressTopic), setting, func(u use, values map[string]string) {
		n, err := strconv.ParseInt(values[setting], 10, 64)
		if err != nil {
			v.add(Unknown, "", "%s of %s is not told", setting, u.topic)
		} else if n > largest {
			largest, of = n, u.topic
		}
	})
	if largest == 0 {
		return v.worst()
	}
	v.add(OK, "", "%s takes batches of %d bytes", of, largest)
	f.eachConfig(&v, usesAs(f.settings, targetTopic, allowedTopic, deadLetterTopic), setting, func(u use, values map[string]string) {
		n, err := strconv.ParseInt(values[setting], 10, 64)
		switch {
		case err != nil:
			v.add(Unknown, "", "%s of %s is not told", setting, u.topic)
		case n < largest && u.role == deadLetterTopic:
			v.add(Warn, f.alterTopic(u.topic, fmt.Sprintf("%s=%d", setting, largest)), "%s takes %d bytes, less than %s (%d): a larger dead letter goes there without its value", u.topic, n, of, largest)
		case n < largest:
			v.add(Warn, f.alterTopic(u.topic, fmt.Sprintf("%s=%d", setting, largest)), "%s takes %d bytes, less than %s (%d): a larger record is a dead letter", u.topic, n, of, largest)
		default:
			v.add(OK, "", "%s takes %d", u.topic, n)
		}
	})
	f.runsSize(&v, setting)
	return v.worst()
}

// runsSize compares each runs topic with what the copies of its ingress topic's records need.
func (f *facts) runsSize(v *verdicts, setting string) {
	f.eachConfig(v, usesAs(f.settings, runsTopic), setting, func(u use, values map[string]string) {
		n, err := strconv.Atoi(values[setting])
		ingress := f.configs[u.of].number(setting)
		want := needs.RunsMaxBytes(int(ingress))
		switch {
		case err != nil:
			v.add(Unknown, "", "%s of %s is not told", setting, u.topic)
		case ingress > 0 && n < want:
			v.add(Warn, f.alterTopic(u.topic, fmt.Sprintf("%s=%d", setting, want)), "%s takes %d bytes, less than the %d that copies of %s need: a larger one is not moved", u.topic, n, want, u.of)
		default:
			v.add(OK, "", "%s takes %d", u.topic, n)
		}
	})
}
