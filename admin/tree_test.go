package admin

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestMarkupBecomesNodes(t *testing.T) {
	for markup, want := range map[string]string{
		``:                                     `null`,
		`text`:                                 `["text"]`,
		`<p>a<b>c</b>d</p> <br />`:             `[["p",{},"a",["b",{},"c"],"d"]," ",["br",{}]]`,
		`<a href="?x&amp;y" id="i">&lt;&#34;`:  `error`,
		`<p>&lt;b&gt;&#34;&#39;&amp;</p>`:      `[["p",{},"<b>\"'&"]]`,
		`<p a="&lt;&#34;">` + "\x1b\ufffe</p>": `[["p",{"a":"<\""},"` + "\ufffd\ufffd" + `"]]`,
		`<svg viewBox="0 0 1 1"><rect/></svg>`: `[["svg",{"viewBox":"0 0 1 1"},["rect",{}]]]`,
		`<p>not <b>closed</p>`:                 `error`,
	} {
		all, err := nodes(markup)
		var text strings.Builder
		enc := json.NewEncoder(&text)
		enc.SetEscapeHTML(false)
		if err == nil {
			err = enc.Encode(all)
		}
		got := strings.TrimSpace(text.String())
		if err != nil {
			got = "error"
		}
		// The encoder writes nested values through MarshalJSON, which escapes < as \u003c.
		got = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(got)
		if got != want {
			t.Errorf("%s becomes %s (%v), want %s", markup, got, err, want)
		}
	}
}

// TestTheScriptGetsWhatThePageHas: the text of the content is that of the page, in its
// order, and the answer says what it is.
func TestTheScriptGetsWhatThePageHas(t *testing.T) {
	for name, s := range scenes() {
		t.Run(name, func(t *testing.T) {
			srv := newServer(s)
			w := get(t, srv, "/status?format=page")
			var content struct {
				Edition, Title, Icon string
				Body                 []any
			}
			if err := json.Unmarshal(w.Body.Bytes(), &content); err != nil {
				t.Fatal(err)
			}
			h := w.Header()
			if h.Get("Content-Type") != "application/json" || h.Get("Cache-Control") != "no-store" || h.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("headers: %v", h)
			}
			var names []string
			var walk func(n any)
			walk = func(n any) {
				if n, is := n.([]any); is {
					names = append(names, n[0].(string))
					for _, child := range n[2:] {
						walk(child)
					}
				}
			}
			for _, n := range content.Body {
				walk(n)
			}
			var want []string
			for _, e := range parse(t, get(t, srv, "/status?format=html").Body.String()) {
				want = append(want, e.name)
			}
			// html, head, five or more elements in it, body, what is said of silence, live;
			// behind it the footer and the script.
			begin := strings.Index(strings.Join(want, " ")+" ", " header h1")
			inside := strings.TrimSpace((strings.Join(want, " ") + " ")[begin:])
			if got := strings.Join(names, " "); !strings.HasPrefix(inside, got+" footer p a a a a script") {
				t.Errorf("the content has %d elements: %.300s, the page %.300s", len(names), got, inside)
			}
			if !strings.HasPrefix(content.Icon, "data:image/svg+xml,") || content.Title == "" || content.Edition != newPage().edition {
				t.Errorf("icon %q, title %q, edition %q", content.Icon, content.Title, content.Edition)
			}
		})
	}
}

// content returns the nodes of a page, as the script gets them.
func content(t *testing.T, s Sample) []any {
	t.Helper()
	var markup strings.Builder
	if err := newPage().template.ExecuteTemplate(&markup, "live", look(s, time.Now()).report().page()); err != nil {
		t.Fatal(err)
	}
	all, err := nodes(markup.String())
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// find returns the nodes of a name below, from above to below.
func find(all []any, name string) (out []*node) {
	for _, n := range all {
		if n, is := n.(*node); is {
			if n.name == name {
				out = append(out, n)
			}
			out = append(out, find(n.children, name)...)
		}
	}
	return out
}

// textOf returns all text below a node.
func textOf(n *node) (text string) {
	for _, child := range n.children {
		switch child := child.(type) {
		case string:
			text += child
		case *node:
			text += textOf(child)
		}
	}
	return text
}

// everySample are the scenes and the states of pictures.
func everySample() map[string]scene {
	all := scenes()
	for name, s := range states() {
		all[name] = s.now
	}
	return all
}

// TestEveryCellNamesItsColumn: on a phone a row is a card, and its labels are the only
// headings that it has.
func TestEveryCellNamesItsColumn(t *testing.T) {
	seen := 0
	for name, s := range everySample() {
		for _, table := range find(content(t, s.Sample()), "table") {
			if table.attributes["class"] == "chart" {
				continue // one label and one number, beside each other on a phone, too
			}
			var heads []string
			for _, row := range find(table.children, "tr") {
				var cells []*node
				for _, cell := range row.children {
					if cell, is := cell.(*node); is {
						cells = append(cells, cell)
					}
				}
				if heads == nil {
					for _, cell := range cells {
						heads = append(heads, textOf(cell))
					}
					continue
				}
				for i, cell := range cells {
					spans := cell.attributes["colspan"] != ""
					if spans && cell.attributes["colspan"] != strconv.Itoa(len(heads)) {
						t.Errorf("%s: a cell spans %s of %d columns", name, cell.attributes["colspan"], len(heads))
					}
					if cell.name == "td" && !spans {
						seen++
						if got := cell.attributes["data-label"]; got != heads[i] {
							t.Errorf("%s: a cell of the column %q has the label %q", name, heads[i], got)
						}
					}
				}
			}
		}
	}
	if seen < 100 {
		t.Errorf("only %d cells were looked at", seen)
	}
}

// TestSiblingsHaveKeysOfTheirOwn: or the script would make one of them anew each time,
// and take focus and selection from it.
func TestSiblingsHaveKeysOfTheirOwn(t *testing.T) {
	for name, s := range everySample() {
		var walk func(all []any)
		walk = func(all []any) {
			keys := make(map[string]bool)
			for _, n := range all {
				n, is := n.(*node)
				if !is {
					continue
				}
				if key := n.name + " " + cmp.Or(n.attributes["data-key"], n.attributes["id"], n.attributes["aria-labelledby"]); !strings.HasSuffix(key, " ") {
					if keys[key] {
						t.Errorf("%s: two siblings are %q", name, key)
					}
					keys[key] = true
				}
				walk(n.children)
			}
		}
		walk(content(t, s.Sample()))
	}
}

// TestTheScriptKnowsEveryElementOfThePage: it makes no other, whatever it is sent.
func TestTheScriptKnowsEveryElementOfThePage(t *testing.T) {
	attributes := regexp.MustCompile(`attributes = /(.*)/;`).FindStringSubmatch(pageJS)
	places := regexp.MustCompile(`places = /(.*)/;`).FindStringSubmatch(pageJS)
	lists := regexp.MustCompile(`"([a-z0-9 ]+ )" \+\s+"([a-z0-9 ]+)"\)\.split`).FindStringSubmatch(pageJS)
	drawn := regexp.MustCompile(`drawn = new Set\(\[(.*)\]\)`).FindStringSubmatch(pageJS)
	if attributes == nil || places == nil || lists == nil || drawn == nil {
		t.Fatal("the script's lists are not where they were")
	}
	names := append(strings.Fields(lists[1]+lists[2]), strings.Split(strings.ReplaceAll(drawn[1], `"`, ""), ", ")...)
	allowed, leads := regexp.MustCompile(attributes[1]), regexp.MustCompile(places[1])
	for _, never := range []string{"script", "style", "img", "iframe", "object", "embed", "form", "input", "base", "link", "meta", "use", "image"} {
		if slices.Contains(names, never) {
			t.Errorf("the script would make %s", never)
		}
	}
	for _, never := range []string{"onclick", "onerror", "style", "src", "srcdoc", "action", "xlink:href"} {
		if allowed.MatchString(never) {
			t.Errorf("the script would set %s", never)
		}
	}
	for _, never := range []string{"javascript:x", "//example.com", "https://example.com", "data:text/html,x", "/x"} {
		if leads.MatchString(never) {
			t.Errorf("the script would make a link to %s", never)
		}
	}
	for name, s := range everySample() {
		var walk func(all []any)
		walk = func(all []any) {
			for _, n := range all {
				n, is := n.(*node)
				if !is {
					continue
				}
				if !slices.Contains(names, n.name) {
					t.Errorf("%s: the page has %s, which the script does not know", name, n.name)
				}
				for attribute, value := range n.attributes {
					if !allowed.MatchString(attribute) || attribute == "href" && !leads.MatchString(value) {
						t.Errorf("%s: %s has %s=%q, which the script does not allow", name, n.name, attribute, value)
					}
				}
				walk(n.children)
			}
		}
		walk(content(t, s.Sample()))
	}
}
