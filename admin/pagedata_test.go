package admin

import (
	"math"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"layover/cluster/connect"
	"layover/cluster/doctor"
	"layover/purgatory"
)

// TestThePageAnswersWhatIsAskedAtNight compares with the numbers that busy was
// made of.
func TestThePageAnswersWhatIsAskedAtNight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // so that the clock stands
		now := time.Now()
		page := parse(t, render(t, busy(now)).Body.String())
		for id, wants := range map[string][]string{
			"due": {"within 1 s 5 1 to 10 s 5 10 s to 1 min 12 1 to 10 min 5 10 min to 1 h 105 1 to 6 h 203 6 h to 1 day 401 later 23", "the 5 that are due and wait"},
			"sick": {
				"b2:9093 kafka refused 3 min ago The broker b2:9093 refuses the connection: look at KAFKA_TLS_CA. The reason: the broker's certificate is of no",
				"invoices ingress topic forbidden 1 h 10 min ago Kafka does not let Layover read the ingress topic invoices.",
				"orders/1 partition halted – Reading of orders/1 stopped at offset 60: no_target", "orders/2 partition unreadable 5 min ago",
				"retry-7 target missing 1 min 30 s ago The target retry-7 does not exist (no such topic). 4 due records wait for it, and others are delivered that are read already: nothing more is read while these wait.",
			},
			"replay": {"900 records since", "45 a second of late, 40 offsets to go"},
			"lateness": {"5 ms 9 ms 10 ms 10 ms 10", "30 delivered records were due before this process got their partitions at 1999-12-31 22:30:00Z: the earliest at 1999-12-31 21:30:00Z, " +
				"the latest at 1999-12-31 22:28:20Z. Nobody delivered them then, as in a downtime, so they came up to 1 h late."},
			"held": {"retry-7 missing 1 min 30 s ago 4 340 B 13 min 30 s 2 no such topic. 4 due records wait for it, and others are delivered that are read already: nothing more is read while these wait. In 13 min 30 s LAYOVER_TARGET_PATIENCE " +
				"is used up, and the oldest makes reading pause, as there is no dead-letter topic. 2 records of it went to the dead-letter topic already. Correct the setting", "retry-8 unreachable – 1 100 B 14 min 59 s 0 1 due record"},
			"paused": {"Paused 1 min 10 s ago, since 1999-12-31 23:58:50.000 UTC. 115 records wait unread. The oldest was written 1 min 5 s ago: late by at least 1 min 5 s, less its delay.",
				"Late by at least 1 min 5 s Unread 115 Pauses at 224.0 MiB Reason target"},
			"letters": {"by reason: no_target 2.", "orders/0@512 no_target 20 s ago orders/0@512: no target is set orders/0@498 no_target 6 min 40 s ago"},
			"pauses":  {"the target retry-7 does not take records"},
			"stopped": {"orders/1 stopped at offset 60: no_target", "orders/2 stopped at offset 900: a batch cannot be read"},
			"partitions": {
				"orders/1 stopped at 60 60 0 50 50 0 2 0 0 metadata orders/2 stopped at 900 900 90 900 900 0 0 0 0 metadata " +
					"orders/3 loading its offset – – – – 0 0 0 0 – orders/0 paused 515 25 400 390 10 34 2 10 journal"},
			"topics": {"retry-7"},
			"findings": {
				"acl-targets fail 30 min ago Write on topic ready: missing Why: without it nothing is delivered kafka-acls.sh --add or ask somebody retention warn 3 min ago",
				"orders: retention.ms=1000 is too short Why: records are lost kafka-configs.sh --alter", "Checked 3 min ago, and again ten minutes later.",
			},
			"connection": {"TLS, login by SCRAM-SHA-512.", "b2:9093 tls KAFKA_TLS_CA 3 min ago the broker's certificate is of no authority",
				"KAFKA_TLS_CA CN=ca in 40 d, 2000-02-10 00:00:00.000 UTC KAFKA_TLS_CERT CN=layover in 5 d 1 h, 2000-01-06 01:00:00.000 UTC KAFKA_TLS_KEY – –"},
			"journal": {"invoices.layover-orders invoices forbidden TOPIC_AUTHORIZATION_FAILED"},
			"runs": {
				"720 wait in runs topics, 70.3 KiB of 213.9 KiB in their logs; the next is due in 1.2 s.",
				"orders.layover-orders.runs orders usable no: failing 720 13 partition 1 refuses copies: NOT_ENOUGH_REPLICAS The runs topic orders.layover-orders.runs of the ingress topic orders takes no copies",
				"invoices.layover-orders.runs invoices forbidden no: forbidden – – allow Write on topic invoices.layover-orders.runs",
				"On their way to runs 3 Moved since the start 44 Of those, moved once more 5 Read back 47 Stays if due within 10 min Read back ahead by 10 s " +
					"Visits to read them 42 99 of 100 took at most 50 ms Visits that came late 3, the last 8.0 s ago Offsets that are gone 6",
			},
			"errors":   {"retry-7: UNKNOWN_TOPIC_OR_PARTITION", "ready: NOT_LEADER"},
			"counters": {"152 read + 47 read back from runs = 89 delivered + 2 dead-lettered + 1 dropped + 4 handed over + 5 skipped + 1 unfinished + 7 cancelled, replaced or expired + 7 cancels + 1 cancels that wait + 36 parked + 2 in flight + 44 moved to runs + 3 on their way there − 3 events of those. Unaccounted for: 0,", "Lost to retention 12"},
			"kill":     {"At most 10 delivered again", "10 since the last commits + 2 in flight + 1 on their way to the runs topic + 6 that did not fit into them, less 9 in the journal"},
			"lag":      {"looks large, and that is right", "not read yet: 115 offsets"},
		} {
			text := section(t, page, id)
			for _, want := range wants {
				if !strings.Contains(text, want) {
					t.Errorf("%s lacks %q: %s", id, want, text)
				}
			}
		}
		tiles := strings.Join(strings.Fields(byClass(page, "tiles")[0].text), " ")
		want := "Parked 36 records, 700 B with those in flight; 720 more in runs Next due in 1.2 s " + now.Add(1200*time.Millisecond).UTC().Format("2006-01-02 15:04:05.000") +
			" UTC Overdue 18 5 of them waiting, the oldest due 4.0 s ago; unread ones not counted In flight 2 sent, not answered Memory 192.0 MiB, 85.7 % of 224.0 MiB at which reading pauses; the limit is 256.0 MiB " +
			"Lateness, p99 10 ms at most 10 ms, after a late start Dead letters 2 the last 20 s ago"
		if tiles != want {
			t.Errorf("%s\nwant %s", tiles, want)
		}
		state := strings.Join(strings.Fields(byClass(page, "state")[0].text), " ")
		for _, want := range []string{"Degraded, paused b2:9093 refuses the connection, look at KAFKA_TLS_CA: the broker's certificate is of no authority that is trusted here; " +
			"ingress topic invoices is forbidden since 1999-12-31T22:50:00Z; partition orders/1 is not read at offset 60 (halted) (and 6 more);",
			"Error: 6 offsets are gone from a runs topic: whatever of them was a copy is not delivered.", "Warning: 2 runs topics have something wrong with them.",
			"Warning: Copies are read late from runs: 3 late visits since the start, the last 8.0 s ago. " +
				"Brokers answer slowly, or memory has no room for what is due at once: look at the leaders of the runs topics, or raise LAYOVER_MAX_PARKED_BYTES.",
			"Warning: KAFKA_TLS_INSECURE_SKIP_VERIFY is true", "Warning: KAFKA_TLS_CERT has expired. New connections use the certificates from before.",
			"Warning: The certificate in KAFKA_TLS_CERT (CN=layover) ends in 5 days, at 2000-01-06T01:00:00Z.", "Error: 2 partitions are not read any more.", "Warning: 2 targets do not take records, and 5 records wait for that. Dead letters for that already: 2.",
			"Warning: Reading is paused: target (retry-7). 115 records wait unread.", "Warning: Dead letters come: 2 since the start, the last 20 s ago.",
			"Mode at-least-once, version 1.2.3 (revision abc), go1.26; up 1 h 30 min", "Generation 7 of the group, member layover-1", "Reads orders, invoices, delivers to ready, retry-*, no dead-letter topic"} {
			if !strings.Contains(state, want) {
				t.Errorf("the state lacks %q: %s", want, state)
			}
		}
	})
}

func TestARevisionIsShownWhereThereIsOne(t *testing.T) {
	for revision, want := range map[string]string{"abc1234": "version 1.2.3 (revision abc1234), go1.26.8;", "unknown": "version 1.2.3, go1.26.8;", "": "version 1.2.3, go1.26.8;"} {
		s := ordinary(time.Now())
		s.Revision = revision
		if body := render(t, s).Body.String(); !strings.Contains(body, want) {
			t.Errorf("%q: the page lacks %q", revision, want)
		}
	}
}

func TestTheMemoryBarIsAsLongAsMemoryIsFull(t *testing.T) {
	for name, test := range map[string]struct {
		memory     Memory
		class      string
		width, say string
	}{
		"empty":          {Memory{Used: 0, Limit: 1 << 20}, "good", "0.00%", "0 B, 0.0 % of 1.0 MiB"},
		"half full":      {Memory{Used: 1 << 19, Limit: 1 << 20}, "good", "50.00%", "512.0 KiB, 50.0 % of 1.0 MiB"},
		"nearly full":    {Memory{Used: 95, Limit: 100}, "warn", "95.00%", "95 B, 95.0 % of 100 B"},
		"more than full": {Memory{Used: 130, Limit: 100}, "warn", "100.00%", "130 B, 130.0 % of 100 B"},
		"not known":      {Memory{}, "good", "0.00%", "0 B, 0.0 % of 0 B"},
	} {
		t.Run(name, func(t *testing.T) {
			s := ordinary(time.Now())
			s.Memory = test.memory
			page := parse(t, render(t, s).Body.String())
			bar := byClass(page, "fill")[0]
			if bar.attr["class"] != "fill "+test.class || bar.attr["width"] != test.width {
				t.Errorf("the bar is %v, want %s and %s", bar.attr, test.class, test.width)
			}
			if text := byClass(page, "tiles")[0].text; !strings.Contains(text, test.say) {
				t.Errorf("%s lacks %q", text, test.say)
			}
		})
	}
}

func TestTheTabSaysHowItIs(t *testing.T) {
	for name, test := range map[string]struct{ title, colour string }{
		"ordinary": {"Ready: 125,388 parked – Layover layover-orders", "#15803d"},
		"fresh":    {"Not ready: unknown parked – Layover layover-orders", "#b45309"},
		"ugly":     {"Degraded, paused: 2,305,843,009,217,693,951 parked, 1,152,921,504,606,846,975 in runs – Layover layover-</style>", "#b91c1c"},
	} {
		for _, e := range parse(t, render(t, scenes()[name].Sample()).Body.String()) {
			icon, err := url.PathUnescape(e.attr["href"])
			switch {
			case e.name == "title" && !strings.HasPrefix(e.text, test.title):
				t.Errorf("%s: the title is %q, want %q", name, e.text, test.title)
			case e.name == "link" && (err != nil || !strings.Contains(icon, test.colour)):
				t.Errorf("%s: the icon is %q, want it in %s", name, icon, test.colour)
			}
		}
	}
}

func TestTheStateIsOneWordAndATone(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Sample)
		state  string
		tone   tone
		says   string // in the reason or a problem
	}{
		"ordinary":   {func(*Sample) {}, "Ready", good, ""},
		"draining":   {func(s *Sample) { s.Draining = true }, "Draining", warn, "a stop was asked for"},
		"Kafka down": {func(s *Sample) { s.Kafka = Kafka{Err: "refused"} }, "Degraded", bad, "refused"},
		"refused": {func(s *Sample) {
			s.Kafka, s.Connection.Refused = Kafka{Err: "time-out", Since: time.Now().Add(-2 * time.Second)}, refusals(time.Now(), "b1")
		}, "Degraded", bad,
			"Kafka has not answered for 2 s: b1:9093 refuses the connection, look at KAFKA_TLS_CA: unknown authority"},
		"refused from the start": {func(s *Sample) {
			s.Kafka, s.Connection.Refused, s.CaughtUp, s.Started = Kafka{Err: "time-out"}, refusals(time.Now(), "b1"), false, time.Now()
		}, "Not ready", bad, "look at KAFKA_TLS_CA"},
		"refused by one of them": {func(s *Sample) { s.Connection.Refused = refusals(time.Now(), "b1") }, "Degraded", bad, "b1:9093 refuses the connection, look at KAFKA_TLS_CA"},
		"not verified":           {func(s *Sample) { s.Connection.InsecureSkipVerify = true }, "Ready", warn, "KAFKA_TLS_INSECURE_SKIP_VERIFY is true"},
		"a certificate for long": {func(s *Sample) { s.Connection.Certificates = ends(15 * 24 * time.Hour) }, "Ready", good, ""},
		"one that ends soon":     {func(s *Sample) { s.Connection.Certificates = ends(13*24*time.Hour + time.Minute) }, "Ready", warn, "ends in 13 days"},
		"one that ends tomorrow": {func(s *Sample) { s.Connection.Certificates = ends(25 * time.Hour) }, "Ready", warn, "ends in 1 day, at"},
		"one that ends today":    {func(s *Sample) { s.Connection.Certificates = ends(time.Hour) }, "Ready", warn, "ends within a day"},
		"one that has ended":     {func(s *Sample) { s.Connection.Certificates = ends(-time.Hour) }, "Ready", warn, "ended at"},
		"a file that went wrong": {func(s *Sample) {
			s.Connection.Certificates = []connect.Certificate{{Variable: "KAFKA_TLS_KEY", Problem: "is encrypted"}}
		}, "Ready", warn,
			"KAFKA_TLS_KEY is encrypted. New connections use the certificates from before."},
		"not yet connected":   {func(s *Sample) { s.Kafka, s.CaughtUp, s.Started = Kafka{}, false, time.Now() }, "Not ready", warn, "Kafka has not answered for 0 s"},
		"not yet joined":      {func(s *Sample) { s.Group.Joined, s.CaughtUp = false, false }, "Not ready", warn, "joining the group"},
		"thrown out":          {func(s *Sample) { s.Group.Joined = false }, "Degraded", warn, "Not a member of the group"},
		"no lease":            {func(s *Sample) { s.Group.LeaseValid = false }, "Degraded", warn, "coordinator"},
		"a stuck loop":        {func(s *Sample) { s.Loops = map[string]time.Time{"poll": time.Now().Add(-time.Hour)} }, "Ready", bad, "poll has not moved"},
		"a record is missing": {func(s *Sample) { s.Lanes[0].Parked-- }, "Ready", bad, "1 records are unaccounted for"},
		"a pause":             {func(s *Sample) { s.Pauses = []Pause{{Reason: PauseBytes}} }, "Paused", warn, "Reading is paused: bytes"},
		"a held target": {func(s *Sample) { s.Lanes[0].Held = []purgatory.HeldView{{Target: "x", Records: 1}} }, "Degraded", warn,
			"1 target does not take records, and 1 record waits for that."},
		"a stopped partition": {func(s *Sample) { s.Lanes[0].Partitions[1].Halted = "x" }, "Degraded", bad, "1 partition is not read any more."},
		"a missing topic": {func(s *Sample) {
			s.Kafka.Faults, s.Kafka.Topics = []string{"topic ready is missing"}, []TopicState{{Name: "ready", State: "missing"}}
		}, "Degraded", warn, "1 configured topic cannot be used."},
		"a missing ingress topic": {func(s *Sample) { s.Kafka.Topics = []TopicState{{Name: "delayed", State: "missing"}} }, "Degraded", bad, "ingress topic delayed is missing"},
		"no leader":               {func(s *Sample) { s.Group.Partitions = []Assignment{{Topic: "delayed", Loaded: true, Leaderless: true}} }, "Degraded", bad, "partition delayed/0 has no leader"},
		"a warning":               {func(s *Sample) { s.Kafka.Warnings = map[string]string{"delayed": "x"} }, "Ready", warn, "1 ingress topic is configured badly."},
		"a warning that is a finding": {func(s *Sample) {
			s.Kafka.Warnings = map[string]string{"delayed": "x"}
			s.Preflight = Preflight{time.Now(), []Finding{{doctor.Finding{ID: "retention", Status: doctor.Warn}, time.Now()}}}
		}, "Ready", warn, " 1 check has found something: retention."},
		"a failed check": {func(s *Sample) {
			s.Preflight = Preflight{time.Now(), []Finding{{doctor.Finding{ID: "a", Status: doctor.Fail}, time.Now()}, {doctor.Finding{ID: "b", Status: doctor.Warn}, time.Now()}}}
		}, "Ready", warn, " 2 checks have found something: a, b."},
		"a journal":         {func(s *Sample) { s.Journal.Topics[0].Err = "x" }, "Degraded", warn, "1 journal has something wrong with it."},
		"no journal wanted": {func(s *Sample) { s.Journal.Topics[0].State = "off" }, "Ready", good, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := ordinary(time.Now())
			test.change(&s)
			d := look(s, time.Now()).report().page()
			said := d.Why
			for _, p := range d.Problems {
				said += " " + p.Text
			}
			if d.State != test.state || d.Tone != test.tone || !strings.Contains(said, test.says) {
				t.Errorf("%s, %s: %s; want %s, %s: %s", d.State, d.Tone, said, test.state, test.tone, test.says)
			}
			if (d.Tone == good) != (said == "") {
				t.Errorf("%s says %q", d.Tone, said)
			}
		})
	}
}

func TestThePageShowsProblemsFirstAndABoundedNumberOfPartitions(t *testing.T) {
	d := ugly(time.Now())
	for i := range 30 {
		d.Group.Partitions[100+i].Stopped = "x"
	}
	page := look(d, time.Now()).report().page()
	if len(page.Rows) != 200 || page.MoreRows != 300 || len(page.Stops) != 20 || page.MoreStop != 12 {
		t.Errorf("%d rows and %d more, %d stops and %d more", len(page.Rows), page.MoreRows, len(page.Stops), page.MoreStop)
	}
	var first []string
	for _, r := range page.Rows[:34] {
		first = append(first, of(r.Topic, int(r.Partition)))
	}
	if first[0] != "delayed/0" || first[1] != "delayed/100" || first[31] != "delayed/498" || first[32] != "delayed/77" || first[33] != "delayed/1" {
		t.Errorf("the order is %v", first)
	}
}

func TestBarsAreOfIntervalsAndInProportion(t *testing.T) {
	if want := [...]int64{1000, 10_000, 60_000, 600_000, 3_600_000, 21_600_000, 86_400_000}; purgatory.Horizons != want {
		t.Fatalf("the bars' labels are of the intervals between %v ms, the counts of those between %v", want, purgatory.Horizons)
	}
	for name, test := range map[string]struct {
		within  [7]int64
		parked  int
		records []int64
		widths  []float64
	}{
		"nothing":                   {[7]int64{}, 0, make([]int64, 8), make([]float64, 8)},
		"some":                      {[7]int64{10, 10, 50, 51, 51, 51, 51}, 71, []int64{10, 0, 40, 1, 0, 0, 0, 20}, []float64{25, 0, 100, 2.5, 0, 0, 0, 50}},
		"one of many is still seen": {[7]int64{1, 1, 1, 1, 1, 1, 1}, 1_000_001, []int64{1, 0, 0, 0, 0, 0, 0, 1_000_000}, []float64{0.5, 0, 0, 0, 0, 0, 0, 100}},
	} {
		t.Run(name, func(t *testing.T) {
			lane := &purgatory.Snapshot{Parked: test.parked, Outlook: purgatory.Outlook{DueWithin: test.within}, Partitions: make([]purgatory.PartitionView, 1)}
			var records []int64
			var widths []float64
			for _, bar := range look(Sample{Lanes: []*purgatory.Snapshot{lane}}, time.Now()).report().page().DueIn {
				records, widths = append(records, bar.Records), append(widths, bar.Width)
			}
			if !slices.Equal(records, test.records) || !slices.Equal(widths, test.widths) {
				t.Errorf("%v %v, want %v %v", records, widths, test.records, test.widths)
			}
		})
	}
}

func TestNumbersAreWrittenForPeople(t *testing.T) {
	const s, m, h = time.Second, time.Minute, time.Hour
	for got, want := range map[string]string{
		grouped(0): "0", grouped(999): "999", grouped(-1000): "-1,000", grouped(int64(math.MaxInt64)): "9,223,372,036,854,775,807", grouped(123456): "123,456",
		size(1023): "1023 B", size(1024): "1.0 KiB", size(-5): "-5 B", size(1<<20 - 1): "1.0 MiB", size(math.MaxInt64): "8.0 EiB", size(3 << 29): "1.5 GiB",
		human(0): "0 ms", human(s - 1): "999 ms", human(s): "1.0 s", human(10*s - 1): "9.9 s", human(m - 1): "59 s", human(m): "1 min", human(h - 1): "59 min 59 s",
		human(24*h - 1): "23 h 59 min", human(49 * h): "2 d 1 h", human(math.MinInt64): "106751 d 23 h", human(-90 * m): "1 h 30 min",
		relative(0): "now", relative(time.Millisecond): "in 1 ms", relative(-2 * m): "2 min ago", relative(time.Millisecond - 1): "now",
		counted(1, "record", "records"): "1 record", counted(0, "record", "records"): "0 records", counted(1200, "record", "records"): "1,200 records",
		clip("äöü", 3): "äöü", clip("äöüß", 3): "äöü…", clip("a\x00\r\nb\u202ec\xff", 9): "a   b c\ufffd",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
