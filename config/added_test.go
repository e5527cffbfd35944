package config

import (
	"slices"
	"strings"
	"testing"

	"layover/delay"
)

func TestWrongAddedHeadersAreRefusedWithWhatWouldBeRight(t *testing.T) {
	const form = "want a list of id due original-timestamp, or none"
	for text, want := range map[string][]string{
		"ids":               {`"ids" is none of these headers (did you mean id?), ` + form},
		"layover-due":       {`"layover-due" is none of these headers (did you mean due?), ` + form},
		"Layover-ID":        {`(did you mean id?)`},
		"timestamp":         {`(did you mean original-timestamp?)`},
		"all":               {`"all" is none of these headers, ` + form},
		"false":             {`"false" is none of these headers, ` + form},
		"id,none":           {`"none" stands beside other entries, want it alone, or the others`},
		"none,none":         {`"none" stands beside other entries`},
		"id,due,ID":         {`"ID" is listed twice`},
		"id;due":            {"semicolon"},
		",":                 {`"," has no entry, ` + form},
		"a,hops":            {`"a" is none of these headers`, `"hops" cannot be chosen: what counts attempts and hops is always added, or retries and circles had no end; ` + form},
		"layover-hops":      {`"layover-hops" cannot be chosen`},
		"X-Delay-Attempt":   {`"X-Delay-Attempt" cannot be chosen`},
		"layover.errors.id": {`"layover.errors.id" is none of these headers, ` + form},
	} {
		t.Run(text, func(t *testing.T) {
			wantProblem(t, minimal("LAYOVER_ADDED_HEADERS="+text), "LAYOVER_ADDED_HEADERS", want...)
		})
	}
}

// TestTheRulesLeaveOutWhatIsNotAdded, of every ingress topic.
func TestTheRulesLeaveOutWhatIsNotAdded(t *testing.T) {
	for text, want := range map[string]delay.Added{
		"":                          0,
		"id,due,original-timestamp": 0,
		"none":                      delay.AddAll,
		"id":                        delay.AddDue | delay.AddOriginalTimestamp,
		"due , original-timestamp":  delay.AddID,
	} {
		cfg := mustLoad(t, minimal("LAYOVER_INGRESS_TOPICS=delayed,also", "LAYOVER_GROUP_ID=g", "LAYOVER_ADDED_HEADERS="+text))
		for _, ingress := range cfg.IngressTopics {
			rules, err := cfg.Rules(ingress)
			if err != nil {
				t.Fatal(err)
			}
			if rules.LeaveOut != want {
				t.Errorf("%q, %s: left out are %v, want %v", text, ingress, rules.LeaveOut, want)
			}
		}
	}
}

// FuzzAddedHeaders: what is accepted names each header once, and is read again as it prints.
func FuzzAddedHeaders(f *testing.F) {
	for _, seed := range []string{"", ",", "none", "NONE,", "none,id", "id", "Id,due", "id,id", "due;id", "original-timestamp ,\tdue", "layover-id", "hops"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var added, again delay.Added
		if decodeAdded(text, &added) != nil {
			return
		}
		var want []string
		for entry := range strings.SplitSeq(text, ",") {
			if entry = strings.ToLower(strings.TrimSpace(entry)); entry != "" {
				want = append(want, entry)
			}
		}
		got := strings.Split(added.String(), ",")
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("%q is %v", text, added)
		}
		if err := decodeAdded(added.String(), &again); err != nil || again != added {
			t.Fatalf("%q prints as %v, which is %v, %v", text, added, again, err)
		}
	})
}
