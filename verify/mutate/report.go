package main

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

// equivalentText lists the mutants that change nothing anybody could notice: the key
// of each on a line, and below it, indented, the reason. Lines of keys that follow
// each other have one reason.
//
//go:embed equivalent.txt
var equivalentText string

// equivalent returns the reasons of mutants that change nothing. A key that no
// mutant of a loaded package has is an error: the source has changed, and the reason
// may not hold any more.
func equivalent(all []rewritten) (map[key]string, error) {
	byName := make(map[string]key)
	dirs := make(map[string]bool)
	for _, r := range all {
		dirs[r.dir] = true
		for _, m := range r.mutants {
			byName[m.key.String()] = m.key
		}
	}
	listed, err := parseEquivalent(equivalentText)
	reasons := make(map[key]string)
	for name, reason := range listed {
		dir, _, _ := strings.Cut(name, " ")
		if k, ok := byName[name]; ok {
			reasons[k] = reason
		} else if dirs[dir] {
			err = errors.Join(err, fmt.Errorf("equivalent.txt: there is no mutant %q any more", name))
		}
	}
	return reasons, err
}

// parseEquivalent reads the list: reasons by keys.
func parseEquivalent(text string) (map[string]string, error) {
	reasons := make(map[string]string)
	var open []string // keys that wait for their reason
	var err error
	fresh := true // the next key begins a new entry
	no := 0
	for line := range strings.Lines(text) {
		no++
		line = strings.TrimRight(line, "\n ")
		reason, indented := strings.CutPrefix(line, "    ")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case indented && len(open) == 0:
			err = errors.Join(err, fmt.Errorf("equivalent.txt:%d: a reason without a key above it", no))
		case indented:
			for _, name := range open {
				reasons[name] = strings.TrimSpace(reasons[name] + " " + reason)
			}
			fresh = true
		default:
			if fresh {
				open, fresh = nil, false
			}
			if _, twice := reasons[line]; twice {
				err = errors.Join(err, fmt.Errorf("equivalent.txt:%d: %s is listed twice", no, line))
			}
			reasons[line] = ""
			open = append(open, line)
		}
	}
	for name, reason := range reasons {
		if reason == "" {
			err = errors.Join(err, fmt.Errorf("equivalent.txt: %s: want a reason below the key", name))
		}
	}
	return reasons, err
}

// report says how one mutant fared. What was noticed is only said on request.
func report(w io.Writer, root string, r result, verbose bool) {
	file, err := filepath.Rel(root, r.file)
	if err != nil {
		file = r.file
	}
	switch {
	case r.outcome == survived:
		fmt.Fprintf(w, "survived   %s:%d  %s\n", file, r.line, r.key)
	case r.outcome == idle:
		fmt.Fprintf(w, "idle       %s:%d  %s\n", file, r.line, r.key)
	case verbose && r.outcome == hung:
		fmt.Fprintf(w, "hung       %s:%d  %s  by %s\n", file, r.line, r.key, r.by)
	case verbose:
		fmt.Fprintf(w, "caught     %s:%d  %s  by %s\n", file, r.line, r.key, r.by)
	}
}

// score is what became of the mutants of one package.
type score struct {
	caught, hung, survived, idle int
}

func (s score) tried() int { return s.caught + s.hung + s.survived + s.idle }

// percent is the share that was noticed. What is idle was not.
func (s score) percent() float64 {
	return 100 * float64(s.caught+s.hung) / float64(max(1, s.tried()))
}

func scores(results []result) map[string]score {
	all := make(map[string]score)
	for _, r := range results {
		s := all[r.key.dir]
		switch r.outcome {
		case caught:
			s.caught++
		case hung:
			s.hung++
		case idle:
			s.idle++
		default:
			s.survived++
		}
		all[r.key.dir] = s
	}
	return all
}

// table is the score in Markdown.
func table(dirs []string, results []result, all []rewritten, reasons map[key]string) string {
	made, same := make(map[string]int), make(map[string]int)
	for _, r := range all {
		made[r.dir] = len(r.mutants)
	}
	for k := range reasons {
		same[k.dir]++
	}
	by := scores(results)
	var b strings.Builder
	b.WriteString("\n| Package | Mutants | Equivalent | Tried | Caught | of these by a hang | Survived | Idle | Score | Wanted |\n|---|---|---|---|---|---|---|---|---|---|\n")
	for _, dir := range dirs {
		s, ok := by[dir]
		if !ok {
			continue
		}
		fmt.Fprintf(&b, "| `%s` | %d | %d | %d | %d | %d | %d | %d | %.1f %% | %d %% |\n", dir, made[dir], same[dir], s.tried(),
			s.caught+s.hung, s.hung, s.survived, s.idle, s.percent(), wantedOf(dir))
	}
	return b.String()
}

// sampleWanted is the share of a sample that has to be noticed, in percent. It is below
// what is wanted of any package, so that no draw of a few fails by chance.
const sampleWanted = 75

// leastSample is how many mutants have to be tried for a share of them to say
// something. A busy machine may get through less in its time.
const leastSample = 30

// verdict is an error for each package that is below what is wanted. A sample is too
// small for that, and is judged as a whole.
func verdict(dirs []string, results []result, sample bool) (err error) {
	if sample {
		noticed := 0
		for _, r := range results {
			if r.outcome == caught || r.outcome == hung {
				noticed++
			}
		}
		if len(results) == 0 || len(results) >= leastSample && 100*noticed < sampleWanted*len(results) {
			return fmt.Errorf("tests noticed %d of %d mutants that were tried, want %d %%", noticed, len(results), sampleWanted)
		}
		return nil
	}
	by := scores(results)
	for _, dir := range dirs {
		if s, ok := by[dir]; ok && s.percent() < float64(wantedOf(dir)) {
			err = errors.Join(err, fmt.Errorf("%s: tests noticed %.1f %%, want %d %%", dir, s.percent(), wantedOf(dir)))
		}
	}
	return err
}
