package needs

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// rows returns the rows of a table in a document that begins with a heading: operations,
// and what they are on.
func rows(t *testing.T, file, heading string) (out [][2]string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/" + file)
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(text), heading)
	if !found {
		t.Fatalf("%s has no table %q", file, heading)
	}
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) < 5 {
			if len(out) > 0 {
				return out
			}
			continue
		}
		if operations := strings.TrimSpace(cells[1]); !strings.HasPrefix(operations, "---") {
			out = append(out, [2]string{operations, strings.TrimSpace(cells[2])})
		}
	}
	return out
}

// operations are those of the table for a role, each once.
func operations(table Table, role Role) (out []string) {
	for _, r := range table.Rights {
		for _, o := range r.Operations {
			if r.Role == role && !slices.Contains(out, string(o)) {
				out = append(out, string(o))
			}
		}
	}
	slices.Sort(out)
	return out
}

func TestTheDocumentedACLsAreThoseOfTheTable(t *testing.T) {
	table := Of(load(t, "LAYOVER_EVENTS_TOPIC=events"))
	roles := map[string]Role{
		"ingress topics": Ingress, "egress topic and every other target": Target, "dead-letter topic": DeadLetter, "events topic": Events, "the group": Group,
		"the [journal](journal.md) topics": Journal, "the journal topic": Journal, "the journal topic, or the cluster": Journal,
		"the [runs](runs.md) topics": Runs, "the runs topic": Runs, "the runs topic, or the cluster": Runs,
	}
	const heading = "| Operation | On | For | Without it |"
	for file, documented := range map[string][]Role{"acls.md": {Ingress, Target, DeadLetter, Events, Group, Journal, Runs}, "journal.md": {Journal}, "runs.md": {Runs}} {
		got := make(map[Role][]string)
		var last Role
		for _, row := range rows(t, file, heading) {
			role, known := roles[row[1]]
			switch {
			case row[1] == "the same":
				role = last
			case !known:
				t.Fatalf("%s: rights on %q, which nothing is known of", file, row[1])
			}
			last = role
			got[role] = append(got[role], strings.Split(row[0], ", ")...)
		}
		for _, role := range documented {
			slices.Sort(got[role])
			if want := operations(table, role); !slices.Equal(got[role], want) {
				t.Errorf("%s has %q for %s, and the table %q", file, got[role], role, want)
			}
		}
	}
}

// TestTheDocumentedCommandsMakeTheTopicsOfTheTable: those of the journal and of runs.
func TestTheDocumentedCommandsMakeTheTopicsOfTheTable(t *testing.T) {
	for file, role := range map[string]Role{"journal.md": Journal, "runs.md": Runs} {
		text, err := os.ReadFile("../../docs/" + file)
		if err != nil {
			t.Fatal(err)
		}
		_, command, _ := strings.Cut(string(text), "kafka-topics.sh ")
		command, _, _ = strings.Cut(command, "```")
		words := strings.Fields(command)
		var want, got []string
		for _, topic := range Of(load(t)).Topics {
			if topic.Role == role {
				want = append(want, topic.Name)
				for _, s := range topic.Config {
					want = append(want, s.Name+"="+s.Value)
				}
			}
		}
		for i, word := range words[:len(words)-1] {
			if word == "--topic" || word == "--config" {
				got = append(got, words[i+1])
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s makes %q, and the table %q", file, got, want)
		}
	}
}
