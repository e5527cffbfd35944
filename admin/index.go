package admin

import (
	_ "embed"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"time"
)

//go:embed index.html
var indexHTML string

// indexData is the input of the index: how it is, and where there is more.
type indexData struct {
	Style          template.CSS
	Icon           template.URL
	Version, Group string
	Tone           tone
	State, Why     string
	Now            time.Time // of the state: this page is not refreshed
	Endpoints      []pathText
	Documents      []pathText
}

// pathText is a path with what is there.
type pathText struct{ Path, Text string }

// endpoints are what the server answers. Paths are relative for the page: a proxy may
// serve it under a prefix.
func endpoints() []pathText {
	return []pathText{
		{"status", "partitions, parked records, lateness, dead letters, pauses and errors: a page in a browser, JSON for others"},
		{"status?format=json", "the same as JSON always"},
		{"metrics", "Prometheus and OpenMetrics"},
		{"readyz", "200 once ready, with what is sick, late, dead or lost; else the thing waited for"},
		{"livez", "200 while our own loops move; never asks Kafka"},
		{"startupz", "200 once started"},
	}
}

// documents are those of the source that help whoever looks at a running process.
func documents() []pathText {
	return []pathText{
		{"docs/operating.md", "what to watch, and for each alert its meaning and the remedy"},
		{"docs/headers.md", "the headers of producers, and every reason of a dead letter"},
		{"docs/configuration.md", "every setting"},
		{"docs/guarantees.md", "what Layover promises"},
	}
}

// index leads on: it says in a sentence how it is, and lists what there is, with links
// where HTML is preferred.
func (s *Server) index(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Vary", "Accept")
	v := look(s.source.Sample(), time.Now())
	page := v.report().page()
	if prefersHTML(r.Header.Values("Accept")) {
		s.page.serveIndex(&indexData{
			Now: v.now.UTC(), Icon: page.Icon, Version: v.Version, Group: v.Group.ID, Tone: page.Tone, State: page.State, Why: page.Why,
			Endpoints: endpoints(), Documents: documents(),
		})(w, r)
		return
	}
	var out strings.Builder
	fmt.Fprintf(&out, "Layover %s, delayed records for Kafka: %s\n\n", v.Version, page.status.State)
	for _, e := range endpoints() {
		fmt.Fprintf(&out, "/%-19s %s\n", e.Path, e.Text)
	}
	fmt.Fprint(&out, "\nIn Layover's source:\n\n")
	for _, d := range documents() {
		fmt.Fprintf(&out, "%-22s %s\n", d.Path, d.Text)
	}
	text(w, http.StatusOK, strings.TrimSuffix(out.String(), "\n"))
}
