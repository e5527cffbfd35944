package monitoring

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// selector is a metric that an expression names, with its matchers.
type selector struct {
	metric   string
	matchers []matcher
}

type matcher struct{ label, op, value string }

// reading takes the names out of an expression in PromQL. It is no parser: whether
// the expression is valid is promtool's part. It only has to know a metric from a
// function, a keyword, a label and a duration. That takes the token after a name and
// the brackets around it.
type reading struct {
	rest      string
	selectors []selector
	labels    []string // named in by, without, on, ignoring and group_…
}

var (
	nameToken   = regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]*`)
	numberToken = regexp.MustCompile(`^[0-9.][0-9a-zA-Z.]*`) // durations among them
	stringToken = regexp.MustCompile(`^"(?:[^"\\]|\\.)*"`)
	matchToken  = regexp.MustCompile(`^\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*(=~|!~|!=|=)\s*("(?:[^"\\]|\\.)*")\s*,?\s*`)

	keywords  = []string{"and", "or", "unless", "bool", "offset"}
	groupings = []string{"by", "without", "on", "ignoring", "group_left", "group_right"}
)

// names reads an expression to its end, or says where it understands it no longer.
func names(expr string) (reading, error) {
	r := reading{rest: expr}
	for {
		r.rest = strings.TrimLeft(r.rest, " \n\t")
		if r.rest == "" {
			return r, nil
		}
		at := r.rest
		if err := r.token(); err != nil {
			return r, fmt.Errorf("%w, at %.40q of %q", err, at, expr)
		}
	}
}

func (r *reading) token() error {
	switch c := r.rest[0]; {
	case nameToken.MatchString(r.rest):
		return r.name(r.take(nameToken))
	case c == '[': // a range is durations only
		_, after, ok := strings.Cut(r.rest, "]")
		if !ok {
			return fmt.Errorf("a range without an end")
		}
		r.rest = after
	case c == '{':
		return fmt.Errorf("a selector without a name could mean any metric")
	case c >= '0' && c <= '9' || c == '.':
		r.take(numberToken)
	case c == '"':
		if r.take(stringToken) == "" {
			return fmt.Errorf("a string without an end")
		}
	case strings.ContainsRune("()+-*/%^,<>=!:@", rune(c)):
		r.rest = r.rest[1:]
	default:
		return fmt.Errorf("unexpected %q", c)
	}
	return nil
}

func (r *reading) take(token *regexp.Regexp) string {
	s := token.FindString(r.rest)
	r.rest = r.rest[len(s):]
	return s
}

func (r *reading) name(name string) error {
	after := strings.TrimLeft(r.rest, " \n\t")
	switch {
	case slices.Contains(groupings, name):
		list, rest, ok := strings.Cut(strings.TrimPrefix(after, "("), ")")
		if !ok || !strings.HasPrefix(after, "(") {
			return fmt.Errorf("%s without its labels", name)
		}
		for label := range strings.SplitSeq(list, ",") {
			if label = strings.TrimSpace(label); label != "" {
				r.labels = append(r.labels, label)
			}
		}
		r.rest = rest
	case slices.Contains(keywords, name):
	case strings.HasPrefix(after, "("): // a function or an aggregation
	case slices.ContainsFunc(groupings, func(g string) bool { return strings.HasPrefix(after, g+" (") || strings.HasPrefix(after, g+"(") }):
		if slices.Contains([]string{"sum", "min", "max", "avg", "count"}, name) {
			return nil // as in: sum by (topic) (…)
		}
		r.selectors = append(r.selectors, selector{metric: name}) // as in: metric and on (…)
	default:
		s := selector{metric: name}
		var err error
		if strings.HasPrefix(after, "{") {
			r.rest = after[1:]
			s.matchers, err = r.braces()
		}
		r.selectors = append(r.selectors, s)
		return err
	}
	return nil
}

func (r *reading) braces() ([]matcher, error) {
	var out []matcher
	for {
		m := matchToken.FindStringSubmatch(r.rest)
		if m == nil {
			break
		}
		value, err := strconv.Unquote(m[3])
		if err != nil {
			return nil, fmt.Errorf("matcher %s: %w", m[0], err)
		}
		out = append(out, matcher{m[1], m[2], value})
		r.rest = r.rest[len(m[0]):]
	}
	if !strings.HasPrefix(r.rest, "}") {
		return nil, fmt.Errorf("matchers without an end")
	}
	r.rest = r.rest[1:]
	return out, nil
}

// fromScrape are labels that Prometheus adds to what it scrapes.
var fromScrape = []string{"job", "namespace", "instance"}

// missing says what an expression names that a scrape does not have. That is a
// metric, a label of it, or a label value that none of its series has.
func missing(expr string, scraped scrape) ([]string, error) {
	r, err := names(expr)
	if err != nil {
		return nil, err
	}
	var out []string
	labels := make(map[string]bool) // of all metrics of the expression
	for _, s := range r.selectors {
		series, ok := scraped[s.metric]
		if !ok {
			out = append(out, "metric "+s.metric)
			continue
		}
		for _, one := range series {
			for label := range maps.Keys(one) {
				labels[label] = true
			}
		}
		if !slices.ContainsFunc(series, s.matches) {
			out = append(out, fmt.Sprintf("series of %s with %v", s.metric, s.matchers))
		}
	}
	for _, label := range r.labels {
		if !labels[label] && !slices.Contains(fromScrape, label) {
			out = append(out, "label "+label)
		}
	}
	return out, nil
}

// matches says whether a series has every label that the selector asks for, with a
// value that it takes. What a dashboard's variable stands for is anybody's choice.
func (s selector) matches(series map[string]string) bool {
	for _, m := range s.matchers {
		if slices.Contains(fromScrape, m.label) || strings.HasPrefix(m.value, "$") {
			continue
		}
		value, has := series[m.label]
		is := value == m.value
		if strings.HasSuffix(m.op, "~") {
			is = regexp.MustCompile("^(?:" + m.value + ")$").MatchString(value)
		}
		if !has || is == strings.HasPrefix(m.op, "!") {
			return false
		}
	}
	return true
}

func TestNamesOfAnExpressionAreFound(t *testing.T) {
	tests := map[string]struct {
		expr    string
		metrics []string
		labels  []string
	}{
		"bare":        {"up", []string{"up"}, nil},
		"compared":    {"foo_total > 5e3 and bar != bool 2", []string{"foo_total", "bar"}, nil},
		"aggregated":  {"sum by (a, b) (rate(foo_total{c=\"d\"}[5m]))", []string{"foo_total"}, []string{"a", "b"}},
		"after":       {"max(foo) by (a)", []string{"foo"}, []string{"a"}},
		"joined":      {"foo / on (a) group_left (b) bar", []string{"foo", "bar"}, []string{"a", "b"}},
		"joined name": {"foo and on (a) time() - bar < 900", []string{"foo", "bar"}, []string{"a"}},
		"offset":      {"foo unless foo offset 15m", []string{"foo", "foo"}, nil},
		"subquery":    {"last_over_time((sum(foo) + bar)[6h:1m])", []string{"foo", "bar"}, nil},
		"string":      {`label_replace(foo, "bar", "$1", "baz", "(.*)")`, []string{"foo"}, nil},
		"quantile":    {"histogram_quantile(0.99, sum by (le) (rate(foo_bucket[$__rate_interval])))", []string{"foo_bucket"}, []string{"le"}},
		"lines":       {"foo{a=\"}\",\n b=~\"x|\\\\.\"}\n> 1", []string{"foo"}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r, err := names(test.expr)
			var metrics []string
			for _, s := range r.selectors {
				metrics = append(metrics, s.metric)
			}
			if err != nil || !slices.Equal(metrics, test.metrics) || !slices.Equal(r.labels, test.labels) {
				t.Errorf("got %v, labels %v, %v", metrics, r.labels, err)
			}
		})
	}
	for _, expr := range []string{`{__name__="foo"}`, `foo{a="b"`, "sum by foo", "foo[5m", "$foo", `"foo`} {
		if r, err := names(expr); err == nil {
			t.Errorf("%q: got %+v, want an error", expr, r)
		}
	}
}

// TestWhatIsPlantedIsFound is about the check itself: it must fail for each of these.
func TestWhatIsPlantedIsFound(t *testing.T) {
	scraped, err := parseScrape(`# HELP foo_total Foo.
# TYPE foo_total counter
foo_total{topic="a",outcome="ok"} 1
foo_total{topic="b {\"},",outcome="ok"} 2.5e+06 1700000000
bar 3
`)
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct{ expr, want string }{
		"fine":                   {`sum by (topic, job) (rate(foo_total{outcome=~"ok|error", job="x"}[5m])) > 0 * bar`, ""},
		"a variable":             {`foo_total{topic=~"$topic"}`, ""},
		"an unknown metric":      {`sum(bar) + rate(foo_totals[5m])`, "metric foo_totals"},
		"one beside a join":      {`bar and on (job) baz`, "metric baz"},
		"one before a join":      {`baz and on (job) bar`, "metric baz"},
		"an unknown label":       {`foo_total{kind="ok"}`, "series of foo_total with [{kind = ok}]"},
		"an unknown value":       {`foo_total{outcome="okay"}`, "series of foo_total with [{outcome = okay}]"},
		"a value by part":        {`foo_total{outcome=~"o"}`, "series of foo_total with [{outcome =~ o}]"},
		"values of two series":   {`foo_total{topic!~"a|b.*"}`, "series of foo_total with [{topic !~ a|b.*}]"},
		"an unknown label in by": {`sum by (kind) (foo_total)`, "label kind"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := missing(test.expr, scraped)
			if err != nil || strings.Join(got, "; ") != test.want {
				t.Errorf("got %q, %v, want %q", got, err, test.want)
			}
		})
	}
}
