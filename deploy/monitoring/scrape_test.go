package monitoring

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// scrape is what /metrics answered: the labels of every series, by name.
type scrape map[string][]map[string]string

var (
	sampleLine = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)(?: \d+)?$`)
	labelPair  = regexp.MustCompile(`^([a-zA-Z_][a-zA-Z0-9_]*)=("(?:[^"\\]|\\.)*"),?`)
)

// parseScrape reads the text format of Prometheus. A line that is not understood is
// an error: skipped, its metric would count as one that does not exist.
func parseScrape(text string) (scrape, error) {
	out := make(scrape)
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		m := sampleLine.FindStringSubmatch(line)
		if m == nil {
			return nil, fmt.Errorf("not a sample: %q", line)
		}
		labels, rest := make(map[string]string), m[2]
		for rest != "" {
			pair := labelPair.FindStringSubmatch(rest)
			if pair == nil {
				return nil, fmt.Errorf("not labels: %q", line)
			}
			value, err := strconv.Unquote(pair[2])
			if err != nil {
				return nil, fmt.Errorf("label %s of %q: %w", pair[1], line, err)
			}
			labels[pair[1]] = value
			rest = rest[len(pair[0]):]
		}
		out[m[1]] = append(out[m[1]], labels)
	}
	return out, nil
}

// has says whether there is a series with these labels, given as name=value.
func (s scrape) has(metric string, labels ...string) bool {
	return slices.ContainsFunc(s[metric], func(series map[string]string) bool {
		for _, pair := range labels {
			name, value, _ := strings.Cut(pair, "=")
			if series[name] != value {
				return false
			}
		}
		return true
	})
}

func (s scrape) names() []string { return slices.Sorted(maps.Keys(s)) }
