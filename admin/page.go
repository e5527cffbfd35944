package admin

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strings"
)

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

// page is /status for people: one HTML document that needs nothing else, no font and no
// library. Its script asks for the content anew, as JSON; without script the browser
// loads the document again. Brokers and producers choose some of its text. So its policy
// lets a browser apply our own style and script alone, known by their hashes.
type page struct {
	template *template.Template
	index    *template.Template
	style    template.CSS
	script   template.JS
	edition  string // of style, script and markup: a document shows content of its own edition
	policy   string // Content-Security-Policy
}

func newPage() *page {
	style, script := hash(pageCSS), hash(pageJS)
	return &page{
		template: template.Must(template.New("page").Funcs(pageFuncs()).Parse(pageHTML + findingsHTML)),
		index:    template.Must(template.New("index").Funcs(pageFuncs()).Parse(indexHTML)),
		style:    template.CSS(pageCSS),
		script:   template.JS(pageJS),
		edition:  hash(style + script + pageHTML + findingsHTML),
		policy: "default-src 'none'; style-src 'sha256-" + style + "'; script-src 'sha256-" + script +
			"'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	}
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// serve answers with the page that shows d, once it is made.
func (p *page) serve(d *pageData, refresh bool) http.HandlerFunc {
	d.Style, d.Script, d.Edition, d.Refresh = p.style, p.script, p.edition, refresh
	return p.execute(p.template, d)
}

// serveIndex answers with the page of links that shows d.
func (p *page) serveIndex(d *indexData) http.HandlerFunc {
	d.Style = p.style
	return p.execute(p.index, d)
}

func (p *page) execute(t *template.Template, d any) http.HandlerFunc {
	var body bytes.Buffer
	if err := t.Execute(&body, d); err != nil {
		return notMade(err)
	}
	return func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", p.policy)
		h.Set("Referrer-Policy", "no-referrer")
		answer(w, http.StatusOK, "text/html; charset=utf-8", body.Bytes())
	}
}

// serveContent answers with the content of the page for page.js.
func (p *page) serveContent(d *pageData) http.HandlerFunc {
	var markup strings.Builder
	d.Refresh = true
	err := p.template.ExecuteTemplate(&markup, "live", d)
	var body []any
	if err == nil {
		body, err = nodes(markup.String())
	}
	var content []byte
	if err == nil {
		content, err = json.Marshal(map[string]any{
			"edition": p.edition, "title": clip(d.Title(), maxText), "icon": d.Icon, "body": body,
		})
	}
	if err != nil {
		return notMade(err)
	}
	return func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, "application/json", content) }
}

func notMade(err error) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		text(w, http.StatusInternalServerError, "the page cannot be made: "+err.Error()+"; /status?format=json has the same facts")
	}
}

// The forms of /status.
type form string

const (
	formJSON    form = "json"
	formHTML    form = "html"
	formContent form = "page" // the page's content as JSON, for its script
)

// wish is what a request for /status asks for.
type wish struct {
	form    form
	refresh bool
}

// wishOf reads the query, which has the last word, and the Accept headers.
func wishOf(r *http.Request) (wish, error) {
	wants := wish{form: formJSON, refresh: true}
	if prefersHTML(r.Header.Values("Accept")) {
		wants.form = formHTML
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return wants, fmt.Errorf("query %.100q: %w; want /status?format=json, for example", r.URL.RawQuery, err)
	}
	if query.Has("format") {
		switch format := form(query.Get("format")); format {
		case formJSON, formHTML, formContent:
			wants.form = format
		default:
			return wants, fmt.Errorf("format %.100q: want json or html, such as /status?format=json", format)
		}
	}
	if query.Has("refresh") {
		switch refresh := query.Get("refresh"); refresh {
		case "on", "off":
			wants.refresh = refresh == "on"
		default:
			return wants, fmt.Errorf("refresh %.100q: want on or off, such as /status?refresh=off", refresh)
		}
	}
	return wants, nil
}
