package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	linked  = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	fences  = regexp.MustCompile("(?ms)^```.*?^```$")
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	dropped = regexp.MustCompile("[^a-z0-9 _-]")
)

// anchors are the ids that GitHub gives the headings of a document.
func anchors(text string) map[string]bool {
	ids := make(map[string]bool)
	for _, m := range heading.FindAllStringSubmatch(fences.ReplaceAllString(text, ""), -1) {
		ids[strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")] = true
	}
	return ids
}

func TestEveryLinkOfADocumentLeadsSomewhere(t *testing.T) {
	found := 0
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".md" || entry.IsDir() {
			return err
		}
		for _, m := range linked.FindAllStringSubmatch(fences.ReplaceAllString(read(t, path), ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			found++
			name, anchor, _ := strings.Cut(m[1], "#")
			to := path
			if name != "" {
				to = filepath.Join(filepath.Dir(path), name)
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: %v", path, err)
			} else if anchor != "" && !anchors(read(t, to))[anchor] {
				t.Errorf("%s: %s has no heading #%s", path, to, anchor)
			}
		}
		return nil
	})
	if err != nil || found < 100 {
		t.Errorf("%d links, %v", found, err)
	}
}
