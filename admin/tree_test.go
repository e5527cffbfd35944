package admin

import (
	"encoding/json"
	"strings"
	"testing"
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
