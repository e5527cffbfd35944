package integration

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	played "layover/verify/long"
)

const (
	recipesFolder = "../docs/recipes/"
	// kcatSection has a recipe's commands, and seenSection what its programs print and
	// the commands that go on beside them. What to set is in front of both.
	kcatSection, seenSection = "With kcat", "What one sees"
	// recipesSetting has the languages that need packages of registries, or all; with
	// Kafka among them, everything is on a broker of Kafka.
	recipesSetting = "LAYOVER_TEST_RECIPES"
)

// language is a section of docs/recipes/README.md.
type language struct {
	name  string
	files map[string]string // by name: what is installed from
	setup []string          // shell blocks
	run   string            // command of the recipe about timeouts
	dir   string            // where it is installed; one at a time
}

// recipe is one document.
type recipe struct {
	name     string
	set      []block           // of all sections in front of the programs
	kcat     []block           // commands, and what they print
	programs map[string]string // by language
	files    map[string]string // name of each program's file
	seen     []block           // what a program prints, and commands
}

// languages reads how each language is installed and run.
func languages(t *testing.T) (all []*language) {
	t.Helper()
	for title, section := range sections(t, recipesFolder+"README.md", "\n### ") {
		l := &language{name: title, files: make(map[string]string)}
		for _, b := range blocks(section) {
			switch b.kind {
			case "sh":
				l.setup = append(l.setup, b.text)
			case "sh run":
				l.run = strings.TrimSpace(b.text)
			default:
				l.files[nameOf.FindStringSubmatch(b.text)[1]] = b.text
			}
		}
		all = append(all, l)
	}
	return all
}

// sections are the parts of a document that begin with a heading, by title and in order.
// Each has an empty line for every line in front of it, so that its blocks know theirs.
func sections(t *testing.T, file, mark string) func(yield func(string, string) bool) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return func(yield func(string, string) bool) {
		all := strings.Split(string(text), mark)
		above := strings.Count(all[0], "\n")
		for _, section := range all[1:] {
			above++ // the end of the line in front of the heading
			if title, _, _ := strings.Cut(section, "\n"); !yield(title, strings.Repeat("\n", above)+section) {
				return
			}
			above += strings.Count(section, "\n")
		}
	}
}

// recipes reads all documents of the folder.
func recipes(t *testing.T) (all []*recipe) {
	t.Helper()
	files, err := filepath.Glob(recipesFolder + "*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".md")
		if name == "README" {
			continue
		}
		r := &recipe{name: name, programs: make(map[string]string), files: make(map[string]string)}
		for title, section := range sections(t, file, "\n## ") {
			for _, b := range blocks(section) {
				named := nameOf.FindStringSubmatch(b.text)
				switch {
				case title == kcatSection:
					r.kcat = append(r.kcat, b)
				case title == seenSection:
					r.seen = append(r.seen, b)
				case named != nil:
					r.programs[title], r.files[title] = b.text, named[1]
				default:
					r.set = append(r.set, b)
				}
			}
		}
		all = append(all, r)
	}
	return all
}

// withoutPrograms are the languages whose clients cannot do what a recipe is about. The
// document has to name them.
var withoutPrograms = map[string][]string{"share-groups": {"Node"}}

// onKafka are the languages whose clients cannot read the embedded broker's answers to a
// recipe's requests. The document says so.
var onKafka = map[string][]string{"share-groups": {"Java", "Spring", "Python"}}

func TestEveryRecipeHasCommandsAndAProgramInEachLanguage(t *testing.T) {
	index, err := os.ReadFile(recipesFolder + "README.md")
	if err != nil {
		t.Fatal(err)
	}
	all, known := recipes(t), languages(t)
	if len(all) != 7 || len(known) != 5 {
		t.Fatalf("%d recipes in %d languages", len(all), len(known))
	}
	for _, r := range all {
		if !strings.Contains(string(index), "]("+r.name+".md)") {
			t.Errorf("README.md has no link to %s", r.name)
		}
		if len(r.set) == 0 || len(r.kcat) == 0 || len(r.seen) == 0 {
			t.Errorf("%s: %d blocks say what to set, %d are for a shell, %d say what one sees", r.name, len(r.set), len(r.kcat), len(r.seen))
		}
		want := 0
		for _, l := range known {
			if slices.Contains(withoutPrograms[r.name], l.name) {
				continue
			}
			want++
			if r.programs[l.name] == "" {
				t.Errorf("%s has no program in %s", r.name, l.name)
			}
		}
		if len(r.programs) != want {
			t.Errorf("%s: its programs are %v", r.name, r.files)
		}
	}
	for _, l := range known {
		pins := regexp.MustCompile(`(?:@v?|==|<version>)(\d+\.[\d.]*\d)`).FindAllStringSubmatch(strings.Join(l.setup, "")+l.files["pom.xml"], -1)
		if l.run == "" || len(pins) == 0 {
			t.Errorf("%s: is run by %q, with %d versions", l.name, l.run, len(pins))
		}
		for _, pin := range pins {
			if row := regexp.MustCompile(`(?m)^\| ` + l.name + ` \|.* ` + regexp.QuoteMeta(pin[1]) + `\b.*\|$`); !row.Match(index) {
				t.Errorf("%s: the table of versions has no %s", l.name, pin[1])
			}
		}
	}
}

// chosen reports whether recipesSetting has a name, whatever its case.
func chosen(name string) bool {
	return slices.ContainsFunc(strings.Split(os.Getenv(recipesSetting), ","), func(set string) bool {
		return strings.EqualFold(strings.TrimSpace(set), name)
	})
}

// checkChosen fails for a name that would choose nothing.
func checkChosen(t *testing.T) {
	t.Helper()
	known := []string{"", "all", "Kafka"}
	for _, l := range languages(t) {
		known = append(known, l.name)
	}
	for set := range strings.SplitSeq(os.Getenv(recipesSetting), ",") {
		if !slices.ContainsFunc(known, func(name string) bool { return strings.EqualFold(strings.TrimSpace(set), name) }) {
			t.Fatalf("%s has %q, want some of %q", recipesSetting, set, known[1:])
		}
	}
}

// TestTheCommandsOfTheRecipesWork starts what each recipe says, with no broker but the
// embedded one, and types its commands.
func TestTheCommandsOfTheRecipesWork(t *testing.T) {
	t.Parallel()
	for _, r := range recipes(t) {
		t.Run(r.name, func(t *testing.T) {
			if !chosen("Kafka") { // each would have a broker of its own
				t.Parallel()
			}
			s := recipeShell(t, r, chosen("Kafka"))
			for _, b := range r.kcat {
				s.step(r, b)
			}
		})
	}
}

// TestTheGoProgramsOfTheRecipesWork needs franz-go, which the tests themselves have.
func TestTheGoProgramsOfTheRecipesWork(t *testing.T) {
	if os.Getenv(recipesSetting) == "" {
		played.InChecks(t)
	}
	t.Parallel()
	runPrograms(t, func(l *language) bool { return l.name == "Go" })
}

// TestTheOtherProgramsOfTheRecipesWork needs what registries have: it is run where
// LAYOVER_TEST_RECIPES names languages, as in java,python, or is all.
func TestTheOtherProgramsOfTheRecipesWork(t *testing.T) {
	t.Parallel()
	checkChosen(t)
	others := func(l *language) bool { return l.name != "Go" && (chosen("all") || chosen(l.name)) }
	if !slices.ContainsFunc(languages(t), others) {
		t.Skip("skipped: " + recipesSetting + " names no languages")
	}
	runPrograms(t, others)
}

// runPrograms runs each recipe's program of the languages chosen.
func runPrograms(t *testing.T, wanted func(*language) bool) {
	all := recipes(t)
	for _, l := range languages(t) {
		if !wanted(l) {
			continue
		}
		t.Run(l.name, func(t *testing.T) {
			l.install(t)
			for _, r := range all {
				if program := r.programs[l.name]; program != "" {
					t.Run(r.name, func(t *testing.T) { l.follow(t, r, program) })
				}
			}
		})
	}
}

// install does what the document says to install.
func (l *language) install(t *testing.T) {
	t.Helper()
	l.dir = t.TempDir()
	for name, text := range l.files {
		if err := os.WriteFile(filepath.Join(l.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if l.name == "Go" { // the checksums are known here, so that none is asked for elsewhere
		sums, err := os.ReadFile("../go.sum")
		if err == nil {
			err = os.WriteFile(filepath.Join(l.dir, "go.sum"), sums, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	for _, text := range l.setup {
		cmd := exec.CommandContext(ctx, "bash", "-e", "-c", text)
		cmd.Dir = l.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", text, err, out)
		}
	}
}

// ownLines are what clients log to stdout, which a recipe does not show.
var ownLines = regexp.MustCompile(`(?m)^\{"level":.*\n`)

// follow starts what the recipe says and its program, and compares what this prints with
// the recipe, line by line.
func (l *language) follow(t *testing.T, r *recipe, program string) {
	s := recipeShell(t, r, chosen("Kafka") || slices.Contains(onKafka[r.name], l.name))
	file := r.files[l.name]
	if err := os.WriteFile(filepath.Join(l.dir, file), []byte(s.here(program)), 0o600); err != nil {
		t.Fatal(err)
	}
	words := strings.Fields(l.run)
	words[len(words)-1] = file
	cmd := exec.Command("bash", "-c", "exec "+strings.Join(words, " "))
	printed, logged := new(buffer), new(buffer)
	cmd.Dir, cmd.Stdout, cmd.Stderr = l.dir, printed, logged
	inGroup(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		endGroup(cmd)
		cmd.Wait()
		if t.Failed() {
			t.Logf("%s printed:\n%s\nand logged:\n%s\ndev printed:\n%s", file, printed, logged, s.said)
		}
	}()
	want := ""
	for _, b := range r.seen {
		if b.kind != "text" {
			s.step(r, b)
			continue
		}
		want += b.text
		eventually(t, time.Minute, fmt.Sprintf("%s prints what %s.md:%d says", file, r.name, b.line), func() bool {
			got := ownLines.ReplaceAllString(printed.String(), "")
			if lines := strings.Count(got, "\n"); lines >= strings.Count(want, "\n") && withoutPlaces(got) != withoutPlaces(want) {
				t.Fatalf("%s printed %q, want %q", file, got, want)
			}
			return withoutPlaces(got) == withoutPlaces(want)
		})
	}
	s.waited(waits[r.name])
}

// span is how long a record waits by its headers: from its timestamp to its deadline.
type span struct{ least, most time.Duration }

// waits has the waits of the records that a recipe's programs have delivered, in order.
// A producer that computes an instant does so some time before it writes its record.
var waits = map[string][]span{
	"deduplication": {{time.Second, time.Second}},
	"from-etf1":     {{time.Millisecond, 3 * time.Second}},
	"from-rabbitmq": {{2 * time.Second, 2 * time.Second}, {3 * time.Second, 3 * time.Second}},
	"from-spring":   {{time.Millisecond, 2 * time.Second}, {time.Millisecond, 2 * time.Second}},
	"retries":       {{800 * time.Millisecond, time.Second}, {1600 * time.Millisecond, 2 * time.Second}},
	"share-groups":  {{800 * time.Millisecond, time.Second}},
	"timeouts":      {{4 * time.Second, 4 * time.Second}},
}
