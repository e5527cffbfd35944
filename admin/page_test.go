package admin

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// element is one element of a page, with all text inside it.
type element struct {
	name string
	attr map[string]string
	text string
}

// parse reads a page as XML does, which forgives nothing. Every element that is open has
// to be closed, every attribute quoted, every < and & escaped. Our script alone need not
// be; it is left out.
func parse(t *testing.T, body string) []element {
	t.Helper()
	var all []element
	var text strings.Builder
	type opened struct{ element, text int } // where it is in all, and where its text begins
	var open []opened
	body = strings.Replace(body, pageJS, "", 1)
	for dec := xml.NewDecoder(strings.NewReader(body)); ; {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("the page is not well-formed: %v", err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			e := element{name: token.Name.Local, attr: make(map[string]string)}
			for _, a := range token.Attr {
				e.attr[a.Name.Local] = a.Value
			}
			open = append(open, opened{len(all), text.Len()})
			all = append(all, e)
		case xml.EndElement:
			if slices.Contains([]string{"td", "th", "dt", "dd", "li", "p"}, token.Name.Local) {
				text.WriteByte(' ') // what stands in the next box is another word
			}
			last := open[len(open)-1]
			open = open[:len(open)-1]
			all[last.element].text = text.String()[last.text:]
		case xml.CharData:
			text.Write(token)
		}
	}
}

// render returns the page of a sample.
func render(t *testing.T, s Sample) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	newPage().serve(look(s, time.Now()).report().page(), true)(w, nil)
	if w.Code != http.StatusOK {
		t.Fatalf("%d: %s", w.Code, w.Body)
	}
	return w
}

// section returns the text of the section with the heading of that id, every run
// of spaces as one.
func section(t *testing.T, page []element, id string) string {
	t.Helper()
	for _, e := range page {
		if e.name == "section" && e.attr["aria-labelledby"] == id {
			return strings.Join(strings.Fields(e.text), " ")
		}
	}
	t.Fatalf("no section %s", id)
	return ""
}

// byClass returns the elements with the class.
func byClass(page []element, class string) (out []element) {
	for _, e := range page {
		if slices.Contains(strings.Fields(e.attr["class"]), class) {
			out = append(out, e)
		}
	}
	return out
}

func TestStatusIsAPageForPeopleAndJSONForOthers(t *testing.T) {
	const html, json, plain = "text/html; charset=utf-8", "application/json", "text/plain; charset=utf-8"
	srv := newServer(sourceOf(busy(time.Now())))
	for name, test := range map[string]struct {
		path, accept string
		code         int
		kind         string
	}{
		"a browser":                       {"/status", chromeAccept, 200, html},
		"curl":                            {"/status", curlAccept, 200, json},
		"no Accept":                       {"/status", "", 200, json},
		"HTML refused":                    {"/status", "text/html;q=0, */*", 200, json},
		"a browser that follows the link": {"/status?format=json", chromeAccept, 200, json},
		"curl that asks for the page":     {"/status?format=html", curlAccept, 200, html},
		"without refresh":                 {"/status?refresh=off", chromeAccept, 200, html},
		"another format":                  {"/status?format=xml", curlAccept, 400, plain},
		"another refresh":                 {"/status?refresh=5", chromeAccept, 400, plain},
		"a broken query":                  {"/status?format=%zz", curlAccept, 400, plain},
	} {
		t.Run(name, func(t *testing.T) {
			var header []string
			if test.accept != "" {
				header = []string{"Accept", test.accept}
			}
			for _, method := range []string{http.MethodGet, http.MethodHead} {
				w := ask(t, srv, method, test.path, header...)
				if kind := w.Header().Get("Content-Type"); w.Code != test.code || kind != test.kind {
					t.Errorf("%s: %d %s, want %d %s", method, w.Code, kind, test.code, test.kind)
				}
				if vary := w.Header().Get("Vary"); vary != "Accept" {
					t.Errorf("%s: Vary is %q: a cache would give one the other's answer", method, vary)
				}
			}
		})
	}
}

func TestAWishThatIsNotUnderstoodIsExplained(t *testing.T) {
	srv := newServer(sourceOf(Sample{}))
	for query, want := range map[string]string{
		"format=xml": `format "xml": want json or html`, "format=": `format "": want json or html`,
		"refresh=5": `refresh "5": want on or off`, "format=%zz": `query "format=%zz"`,
	} {
		if body := get(t, srv, "/status?"+query).Body.String(); !strings.Contains(body, want) || !strings.Contains(body, "/status?") {
			t.Errorf("%s: %q lacks %q or an example", query, body, want)
		}
	}
}

func TestTheBareAddressLeadsOn(t *testing.T) {
	srv := newServer(sourceOf(busy(time.Now())))
	w := ask(t, srv, http.MethodGet, "/", "Accept", firefoxAccept)
	if w.Code != http.StatusOK || w.Header().Get("Vary") != "Accept" || w.Header().Get("Content-Security-Policy") != srv.page.policy {
		t.Errorf("a browser gets %d %v", w.Code, w.Header())
	}
	var links []string
	for _, e := range parse(t, w.Body.String()) {
		if e.name == "a" {
			links = append(links, e.attr["href"])
		}
	}
	for _, want := range append([]string{"status?format=json"}, paths[1:]...) {
		if want = strings.TrimPrefix(want, "/"); !slices.Contains(links, want) {
			t.Errorf("the links %v lack %s", links, want)
		}
	}
	for _, link := range links {
		if got := get(t, srv, "/"+link); got.Code != http.StatusOK {
			t.Errorf("the link %s leads to %d", link, got.Code)
		}
	}
	for _, want := range []string{"Degraded, paused", "docs/operating.md", "layover-orders", "1.2.3"} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("the page of links lacks %q", want)
		}
	}
	for _, d := range documents() {
		if _, err := os.Stat("../" + d.Path); err != nil {
			t.Errorf("the page of links names a document: %v", err)
		}
	}
	if w := ask(t, srv, http.MethodGet, "/", "Accept", curlAccept); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "/metrics") {
		t.Errorf("curl gets %d %s", w.Code, w.Body)
	}
	if w := ask(t, srv, http.MethodGet, "/nowhere", "Accept", firefoxAccept); w.Code != http.StatusNotFound {
		t.Errorf("an unknown path: %d", w.Code)
	}
}

// TestThePageIsInOrder: what a screen reader, a browser without the network and
// the next change of the template rely on.
func TestThePageIsInOrder(t *testing.T) {
	for name, s := range scenes() {
		t.Run(name, func(t *testing.T) {
			page := parse(t, render(t, s.Sample()).Body.String())
			ids, names := make(map[string]bool), make(map[string]int)
			for _, e := range page {
				names[e.name]++
				if id, has := e.attr["id"]; has {
					if ids[id] {
						t.Errorf("two elements have the id %s", id)
					}
					ids[id] = true
				}
			}
			if names["h1"] != 1 || names["main"] != 1 || names["title"] != 1 || names["style"] != 1 || names["script"] != 1 || names["h2"] != names["section"] {
				t.Errorf("elements: %v", names)
			}
			for _, e := range page {
				checkElement(t, e, ids)
			}
		})
	}
}

func checkElement(t *testing.T, e element, ids map[string]bool) {
	t.Helper()
	ours := []string{"?format=json", "?format=html", "?format=html&refresh=off", "metrics", "readyz", "livez"}
	for name, value := range e.attr {
		inside := strings.HasPrefix(value, "#") && ids[value[1:]]
		switch {
		case name == "href" && e.name == "a" && !inside && !slices.Contains(ours, value):
			t.Errorf("a link leads to %q", value)
		case name == "href" && e.name == "link" && !strings.HasPrefix(value, "data:"), name == "href" && e.name != "a" && e.name != "link":
			t.Errorf("%s needs %q", e.name, value)
		case name == "aria-labelledby" && !ids[value]:
			t.Errorf("%s is labelled by %q, which is nowhere", e.name, value)
		case name == "src" || name == "style" || strings.HasPrefix(name, "on"):
			t.Errorf("%s has %s=%q", e.name, name, value)
		}
	}
	switch {
	case e.name == "th" && e.attr["scope"] == "", e.name == "script" && strings.TrimSpace(e.text) != "", e.name == "form", e.name == "img", e.name == "iframe", e.name == "object":
		t.Errorf("%s %v", e.name, e.attr)
	}
}

func TestThePolicyAllowsOurStyleAndScriptAndNothingElse(t *testing.T) {
	w := render(t, ordinary(time.Now()))
	policy := w.Header().Get("Content-Security-Policy")
	inside := func(element string) string {
		_, rest, _ := strings.Cut(w.Body.String(), "<"+element+">")
		text, _, ended := strings.Cut(rest, "</"+element+">")
		hash := sha256.Sum256([]byte(text))
		if want := element + "-src 'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) + "';"; !ended || !strings.Contains(policy, want) {
			t.Errorf("the policy is %q, the %s needs %q", policy, element, want)
		}
		return text
	}
	style, script := inside("style"), inside("script")
	if !strings.HasPrefix(policy, "default-src 'none'; ") || strings.Contains(policy, "unsafe") {
		t.Errorf("the policy is %q", policy)
	}
	for _, want := range []string{"img-src data:;", "connect-src 'self';", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"} {
		if !strings.Contains(policy, want) {
			t.Errorf("the policy %q lacks %s", policy, want)
		}
	}
	for name, want := range map[string]string{"Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if strings.Contains(style, "url(") || strings.Contains(style, "@import") {
		t.Error("the style asks for something else")
	}
	for _, way := range []string{"innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "Function(", "http:", "https:"} {
		if strings.Contains(strings.ReplaceAll(script, "http://www.w3.org/2000/svg", ""), way) {
			t.Errorf("the script has %s, by which text might become more than text", way)
		}
	}
}

func TestHostileTextStaysText(t *testing.T) {
	elements := func(text string) (names []string) {
		for _, e := range parse(t, render(t, uglyWith(text, time.Now())).Body.String()) {
			names = append(names, e.name)
		}
		return names
	}
	// Both begin with what is sorted before the other names.
	if !slices.Equal(elements(hostile), elements("An ordinary text")) {
		t.Error("hostile text makes other elements than an ordinary one")
	}
	body := render(t, ugly(time.Now())).Body.String()
	for _, raw := range []string{"<script>alert", "<img", "\x00", "\x1b", "\u202e", "\xff"} {
		if strings.Contains(body, raw) {
			t.Errorf("%q is in the page as it came", raw)
		}
	}
	for _, id := range []string{"sick", "held", "pauses", "stopped", "findings", "topics", "connection", "journal", "errors"} {
		if text := section(t, parse(t, body), id); !strings.Contains(text, `</style></title><script>alert("x")</script><img src="https://example.com/x" onerror='y'>&lt;`) {
			t.Errorf("%s does not show what came: %s", id, text)
		}
	}
}

func TestThePageRefreshesUnlessToldNotTo(t *testing.T) {
	srv := newServer(sourceOf(busy(time.Now())))
	for path, want := range map[string]bool{"/status?format=html": true, "/status?format=html&refresh=on": true, "/status?format=html&refresh=off": false} {
		got := slices.ContainsFunc(parse(t, get(t, srv, path).Body.String()), func(e element) bool {
			return e.name == "meta" && e.attr["http-equiv"] == "refresh" && e.attr["content"] == "5"
		})
		if got != want {
			t.Errorf("%s: refreshes: %v, want %v", path, got, want)
		}
	}
}
