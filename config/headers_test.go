package config

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"layover/delay"
)

func TestWrongHeadersOfOthersAreRefusedWithWhatWouldBeRight(t *testing.T) {
	const presets, mapped = "LAYOVER_HEADERS", "LAYOVER_HEADER_MAP"
	tests := map[string]struct {
		env      string
		variable string
		reason   []string
	}{
		"an unknown preset":            {presets + "=springs", presets, []string{`"springs" is no preset (did you mean spring?), want some of native spring etf1 timebridge watermill http amqp cloudevents`}},
		"a preset like none":           {presets + "=zzzzzzzz", presets, []string{`"zzzzzzzz" is no preset, want some of native`}},
		"a preset twice":               {presets + "=etf1,spring,ETF1", presets, []string{`"ETF1" is listed twice`}},
		"native twice":                 {presets + "=native,native", presets, []string{`"native" is listed twice`}},
		"a header among presets":       {presets + "=X-A=ms", presets, []string{`"X-A=ms" is no preset: single headers are LAYOVER_HEADER_MAP's to map`}},
		"presets with a semicolon":     {presets + "=etf1;spring", presets, []string{"semicolon"}},
		"all that is wrong of presets": {presets + "=a,b", presets, []string{`"a" is no preset`, `"b" is no preset`}},
		"an unknown format":            {mapped + "=X-A=epoch", mapped, []string{`"X-A=epoch" has the format "epoch", which is none (did you mean epoch_s?), want one of ms s duration iso8601 be32_ms be64_ms retry_after epoch_ms epoch_s rfc3339 bigint_ms target key id attempt expire_at`}},
		"a preset as a format":         {mapped + "=X-A=spring", mapped, []string{`"spring", which is none`}},
		"no format":                    {mapped + "=X-A", mapped, []string{`"X-A" is not of the form header=format`}},
		"an empty format":              {mapped + "=X-A=", mapped, []string{`"X-A=" is not of the form header=format`}},
		"an empty name":                {mapped + "==ms", mapped, []string{`"=ms" is not of the form header=format`}},
		"a name twice":                 {mapped + "=X-A=ms,x-b=s,X-A=s", mapped, []string{`"X-A=s" has the header "X-A" a second time`}},
		"a name twice but for case":    {mapped + "=X-A=ms,x-a=ms", mapped, []string{`"x-a=ms" has the header "x-a" a second time; upper and lower case are the same`}},
		"a name of ours":               {mapped + "=X-Delay=s", mapped, []string{`"X-Delay=s" has the header "X-Delay", which has a meaning of its own to Layover`}},
		"an expiry of ours":            {mapped + "=x-expire-at=epoch_s", mapped, []string{"a meaning of its own"}},
		"an attempt of ours":           {mapped + "=x-delay-attempt=attempt", mapped, []string{"a meaning of its own"}},
		"a stamp of ours":              {mapped + "=layover-id=id", mapped, []string{"a meaning of its own"}},
		"an error of ours":             {mapped + "=Layover.Errors.Key=key", mapped, []string{"a meaning of its own"}},
		"a name with a blank":          {mapped + "=a b=ms", mapped, []string{`which has the character ' '`}},
		"a name beyond ASCII":          {mapped + "=größe=ms", mapped, []string{`which has the character 'ö'`}},
		"a name that is too long":      {mapped + "=" + strings.Repeat("x", 256) + "=ms", mapped, []string{"longer than 255 characters"}},
		"a second equals sign":         {mapped + "=a=b=ms", mapped, []string{`the format "b=ms", which is none`}},
		"both halves":                  {mapped + "=x-delay=none", mapped, []string{"a meaning of its own", `"none", which is none`}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { wantProblem(t, minimal(test.env), test.variable, test.reason...) })
	}
}

// TestTheRulesHaveTheHeadersOfTheSettings: those of every ingress topic, and those of send.
func TestTheRulesHaveTheHeadersOfTheSettings(t *testing.T) {
	environ := minimal("LAYOVER_HEADERS=http", "LAYOVER_HEADER_MAP=X-Wait=s,X-Where=target")
	cfg := mustLoad(t, environ)
	rules, err := cfg.Rules("delayed")
	if err != nil {
		t.Fatal(err)
	}
	routing, err := LoadRouting(environ)
	if err != nil {
		t.Fatal(err)
	}
	sent, err := routing.Rules("delayed", "")
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]*delay.Rules{"the daemon": rules, "send": sent} {
		for header, want := range map[string]int64{"x-wait": 5_000, "Retry-After": 5_000, "x-wait2": 0} {
			d, invalid := r.Parse(&kgo.Record{Timestamp: time.UnixMilli(1_000_000), Headers: []kgo.RecordHeader{{Key: header, Value: []byte("5")}}}, 1_000_000)
			if invalid != nil || d.DeadlineMs != 1_000_000+want {
				t.Errorf("%s, %s: due %d, %v", name, header, d.DeadlineMs, invalid)
			}
		}
	}
	for header, want := range map[string]bool{"X-WAIT": true, "x-where": true, "retry-after": true, "scheduler-epoch": false, "x-delay": false, "trace": false} {
		if got := routing.Maps(header); got != want {
			t.Errorf("send takes %s for a control header: %v", header, got)
		}
	}
	if plain, err := mustLoad(t, minimal()).Rules("delayed"); err != nil || plain.Names != nil {
		t.Errorf("without the settings the rules have %v, %v", plain.Names, err)
	}
}

// FuzzHeaderMaps reads both lists. What is accepted is what a plain split finds, in its order
// and each header once, prints as it is read, and is a vocabulary.
func FuzzHeaderMaps(f *testing.F) {
	for _, seed := range []string{"", ",", "X-A=ms", "X-A=ms,x-b=KEY", " a = s ,\tb=target", "a=ms,A=s", "a", "=", "a=", "=ms", "a=b=ms", "x-delay=ms", "layover-x=id", "é=s", "a\x00=s", "a=ms;b=s", "spring,etf1", "Native, HTTP ,", "etf1,etf1", "x-dela\u017f=ms"} {
		f.Add(seed)
	}
	formats := " ms s duration iso8601 be32_ms be64_ms retry_after epoch_ms epoch_s rfc3339 bigint_ms target key id attempt expire_at "
	presets := " native spring etf1 timebridge watermill http amqp cloudevents "
	f.Fuzz(func(t *testing.T, text string) {
		var maps, again []delay.Mapping
		if decodeHeaderMap(text, &maps) == nil {
			var want []string
			seen := make(map[string]bool)
			for entry := range strings.SplitSeq(text, ",") {
				if entry = strings.TrimSpace(entry); entry == "" {
					continue
				}
				name, format, _ := strings.Cut(entry, "=")
				name, format = strings.TrimSpace(name), strings.ToLower(strings.TrimSpace(format))
				if seen[strings.ToLower(name)] || format == "" || !strings.Contains(formats, " "+format+" ") || name == "" {
					t.Fatalf("%q was accepted in %q", entry, text)
				}
				seen[strings.ToLower(name)] = true
				want = append(want, name+"="+format)
			}
			if got := joined(maps); got != strings.Join(want, ",") {
				t.Fatalf("%q is %q, want %q", text, got, want)
			}
			if err := decodeHeaderMap(joined(maps), &again); err != nil || !slices.Equal(again, maps) {
				t.Fatalf("%q prints as %q, which is %v, %v", text, joined(maps), again, err)
			}
		}
		var names []string
		if decodePresets(text, &names) == nil {
			for _, name := range names {
				if !strings.Contains(presets, " "+name+" ") {
					t.Fatalf("%q has the preset %q", text, name)
				}
			}
		}
		vocabulary, err := (&Config{HeaderMap: maps, Headers: names}).Names()
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		for _, m := range maps {
			if !vocabulary.Has(m.Name) || !vocabulary.Has(strings.ToUpper(m.Name)) {
				t.Fatalf("%q: %s is not in the vocabulary", text, m.Name)
			}
		}
	})
}
