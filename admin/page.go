package admin

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
)

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

// page is /status for people: one HTML document that needs nothing else, no
// script, no font, no second request. Brokers and producers choose some of its
// text. So its policy lets a browser apply only our own style, known by its hash.
type page struct {
	template *template.Template
	style    template.CSS
	policy   string // Content-Security-Policy
}

func newPage() *page {
	hash := sha256.Sum256([]byte(pageCSS))
	return &page{
		template: template.Must(template.Must(template.New("page").Funcs(pageFuncs()).Parse(pageHTML)).Parse(findingsHTML)),
		style:    template.CSS(pageCSS),
		policy: "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) +
			"'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	}
}

// serve answers with the page that shows d.
func (p *page) serve(w http.ResponseWriter, d *pageData, refresh bool) {
	var body bytes.Buffer
	d.Style, d.Refresh = p.style, refresh
	if err := p.template.Execute(&body, d); err != nil {
		text(w, http.StatusInternalServerError, "the page cannot be made: "+err.Error()+"; /status?format=json has the same facts")
		return
	}
	h := w.Header()
	h.Set("Content-Security-Policy", p.policy)
	h.Set("Referrer-Policy", "no-referrer")
	answer(w, http.StatusOK, "text/html; charset=utf-8", body.Bytes())
}

// wish is the form of /status that a request asks for.
type wish struct{ html, refresh bool }

// wishOf reads the query, which has the last word, and the Accept headers.
func wishOf(r *http.Request) (wish, error) {
	wants := wish{html: prefersHTML(r.Header.Values("Accept")), refresh: true}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return wants, fmt.Errorf("query %.100q: %w; want /status?format=json, for example", r.URL.RawQuery, err)
	}
	if query.Has("format") {
		switch format := query.Get("format"); format {
		case "json", "html":
			wants.html = format == "html"
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
