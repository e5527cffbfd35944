package admin

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	played "layover/verify/long"
)

// now makes the script ask at once, as it does when its tab comes back into sight.
const now = `document.dispatchEvent(new Event("visibilitychange"))`

// asked are the requests that a server got.
type asked struct {
	mu    sync.Mutex
	paths []string
}

func (a *asked) add(r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.paths = append(a.paths, r.Method+" "+r.URL.RequestURI())
}

func (a *asked) all() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.paths)
}

// front is a server whose scene a test changes, and which may be made to fail.
type front struct {
	*httptest.Server
	asked
	scene atomic.Pointer[scene]
	fails atomic.Pointer[http.HandlerFunc]
	admin *Server
}

func (f *front) Sample() Sample { return f.scene.Load().Sample() }

func (f *front) show(s scene) { f.scene.Store(&s) }

func (f *front) fail(with http.HandlerFunc) { f.fails.Store(&with) }

// openFront serves a scene, below a prefix that a proxy would take away.
func openFront(t *testing.T, s scene, prefix string) *front {
	t.Helper()
	f := new(front)
	f.show(s)
	f.admin = newServer(f)
	f.Server = httptest.NewServer(http.StripPrefix(prefix, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.add(r)
		if with := f.fails.Load(); with != nil && *with != nil {
			(*with)(w, r)
			return
		}
		f.admin.http.Handler.ServeHTTP(w, r)
	})))
	t.Cleanup(f.Close)
	return f
}

func TestChromiumShowsThePageAndAsksForNothingElse(t *testing.T) {
	b := openBrowser(t)
	for name, s := range scenes() {
		t.Run(name, func(t *testing.T) {
			f := openFront(t, s, "")
			tab := b.open(t, 1280, false)
			tab.visit(t, f.URL+"/status")
			text := tab.text(t, "document.body.innerText")
			for _, want := range map[string][]string{
				"ordinary": {"125,388", "64.0 MiB, 25.0 % of 256.0 MiB", "40,520", "delayed/3", "Unaccounted for: 0"},
				"ugly":     {"Degraded", `<script>alert("x")</script>`, "And 300 more", "delayed/498", "260.0 MiB, 101.6 % of 256.0 MiB"},
				"fresh":    {"Not ready", "unknown", "None is assigned to this process"},
			}[name] {
				if !strings.Contains(text, want) {
					t.Errorf("the document lacks %q", want)
				}
			}
			tab.refresh(t)
			// On a slow machine the script asks twice.
			if got, want := slices.Compact(f.all()), []string{"GET /status", "GET /status?format=page"}; !slices.Equal(got, want) {
				t.Errorf("requests: %v, want %v", got, want)
			}
			if said := tab.complained(); said != "" {
				t.Errorf("the browser complains: %s", said)
			}
		})
	}
}

func TestARefreshLeavesTheReaderAlone(t *testing.T) {
	f := openFront(t, ordinary, "")
	tab := openBrowser(t).open(t, 1280, false)
	tab.visit(t, f.URL+"/status")
	// A reader has opened the counters, selected a name in a row, moved the focus to
	// a link, and scrolled.
	tab.eval(t, `(() => {
		window.reader = { row: document.querySelector("#live tr[data-key='delayed/2']"), details: document.querySelector("details"), removed: 0 };
		reader.details.open = true;
		document.querySelector("header a").focus({ preventScroll: true });
		getSelection().selectAllChildren(reader.row.querySelector("th"));
		scrollTo(0, 300);
		new MutationObserver((all) => { for (const m of all) reader.removed += m.removedNodes.length; })
			.observe(document.body, { childList: true, subtree: true });
	})()`, nil)
	f.show(func(at time.Time) Sample {
		s := ordinary(at)
		s.Lanes[0].Parked = 42
		s.Lanes[0].Partitions[2].Parked = 4242
		s.Lanes[0].Partitions[1].Halted, s.Lanes[0].Partitions[1].HaltedAt = "invalid", 7 // its row is the first now
		return s
	})
	tab.eval(t, now, nil)
	tab.wait(t, "document.querySelector('.tiles .big').textContent === '42'")
	var is map[string]any
	tab.eval(t, `({
		row: reader.row.isConnected && reader.row.textContent.includes("4,242"), open: reader.details.open && reader.details.isConnected,
		focus: document.activeElement === document.querySelector("header a"), selection: getSelection().toString(), scroll: scrollY,
		removed: reader.removed, first: document.querySelector("#live section[aria-labelledby=partitions] tbody th").textContent,
		title: document.title, loads: performance.getEntriesByType("navigation").length })`, &is)
	for what, want := range map[string]any{"row": true, "open": true, "focus": true, "selection": "delayed/2", "first": "delayed/1"} {
		if is[what] != want {
			t.Errorf("%s is %v, want %v", what, is[what], want)
		}
	}
	// What appears above moves the rest down, and the browser scrolls along.
	if scroll, _ := is["scroll"].(float64); scroll < 300 {
		t.Errorf("the page is scrolled to %v", scroll)
	}
	if title, _ := is["title"].(string); !strings.HasPrefix(title, "Degraded: ") {
		t.Errorf("the title is %q", title)
	}
	if said := tab.complained(); said != "" {
		t.Errorf("the browser complains: %s", said)
	}
}

func TestASelectionStaysWhereTheTextAroundItChanges(t *testing.T) {
	played.InChecks(t)
	f := openFront(t, ordinary, "")
	tab := openBrowser(t).open(t, 1280, false)
	tab.visit(t, f.URL+"/status")
	tab.eval(t, `(() => {
		const text = document.querySelector(".state > .quiet").firstChild, range = document.createRange();
		range.setStart(text, text.data.indexOf("member"));
		range.setEnd(text, text.data.indexOf("member") + "member layover-7d9f".length);
		getSelection().removeAllRanges();
		getSelection().addRange(range);
	})()`, nil)
	f.show(func(at time.Time) Sample {
		s := ordinary(at)
		s.Started = at.Add(-100 * time.Hour)
		return s
	})
	tab.eval(t, now, nil)
	tab.wait(t, "document.querySelector('.state').textContent.includes('up 4 d 4 h')")
	if selected := tab.text(t, "getSelection().toString()"); selected != "member layover-7d9f" {
		t.Errorf("selected is %q", selected)
	}
}

// TestOnlyWhatDiffersChanges: nothing flickers that stays as it is.
func TestOnlyWhatDiffersChanges(t *testing.T) {
	played.InChecks(t)
	f := openFront(t, ordinary, "")
	tab := openBrowser(t).open(t, 1280, false)
	tab.visit(t, f.URL+"/status")
	tab.eval(t, `(() => {
		window.changed = [];
		new MutationObserver((all) => { for (const m of all) changed.push(m.type + " of " + ((m.type === "characterData" ? m.target.parentElement : m.target)?.outerHTML ?? "").slice(0, 60) + " " + (m.attributeName ?? "")); })
			.observe(document.getElementById("live"), { childList: true, subtree: true, characterData: true, attributes: true });
	})()`, nil)
	tab.eval(t, now, nil)
	tab.wait(t, "changed.length > 0")
	var changed []string
	tab.eval(t, "changed", &changed)
	for _, change := range changed {
		if strings.HasPrefix(change, "childList") || !strings.Contains(change, "<time") && !strings.Contains(change, "Generation") &&
			!strings.Contains(change, `datetime`) && !strings.Contains(change, `class="big"`) && !strings.Contains(change, "Mode") {
			t.Errorf("the clock alone went on, and this changed: %s", change)
		}
	}
}

// TestTheScriptMakesThePageThatTheServerMakes: from any scene to any other one, the
// document that the script changed equals the one that the browser would have loaded.
func TestTheScriptMakesThePageThatTheServerMakes(t *testing.T) {
	played.InChecks(t)
	b := openBrowser(t)
	at := time.Now()
	var showing atomic.Pointer[scene]
	p := newPage()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d := look((*showing.Load())(at), at).report().page()
		if r.URL.Query().Get("format") == string(formContent) {
			p.serveContent(d)(w, r)
			return
		}
		p.serve(d, true)(w, r)
	}))
	defer srv.Close()
	for from, first := range scenes() {
		for to, second := range scenes() {
			t.Run(from+" to "+to, func(t *testing.T) {
				if from != "ordinary" || to == from {
					played.Only(t)
				}
				tab := b.open(t, 1280, false)
				showing.Store(&first)
				tab.visit(t, srv.URL+"/status")
				showing.Store(&second)
				tab.refresh(t)
				tab.eval(t, `(async () => {
					const loaded = new DOMParser().parseFromString(await (await fetch("/status")).text(), "text/html");
					const icon = (document) => document.querySelector("link[rel=icon]").getAttribute("href");
					window.same = { live: loaded.getElementById("live").isEqualNode(document.getElementById("live")), title: loaded.title.trim() === document.title.trim(),
						icon: icon(loaded) === icon(document),
						stale: document.getElementById("stale").hidden };
				})()`, nil)
				var same map[string]bool
				tab.eval(t, "same", &same)
				for what, is := range same {
					if !is {
						t.Errorf("%s differs: %s", what, tab.text(t, "document.body.innerText"))
					}
				}
				if said := tab.complained(); said != "" {
					t.Errorf("the browser complains: %s", said)
				}
			})
		}
	}
}

func TestHostileTextStaysTextInTheLiveDocument(t *testing.T) {
	played.Only(t)
	b := openBrowser(t)
	for name, text := range map[string]string{
		"markup": hostile, "much": strings.Repeat(`"><svg onload=hacked=1>`, 500), "another direction": "\u202e\u2066أهلا\u2069 \u200f\"'`",
		"an address": "javascript:hacked=1", "a template": "{{.}}${hacked=1}`</script><script>hacked=1</script>",
	} {
		t.Run(name, func(t *testing.T) {
			if name != "markup" && name != "an address" {
				played.Only(t)
			}
			f := openFront(t, func(at time.Time) Sample { return uglyWith("an ordinary text", at) }, "")
			tab := b.open(t, 360, false)
			tab.visit(t, f.URL+"/status")
			var before, after map[string]int
			const count = `(() => { const all = {}; for (const e of document.querySelectorAll("*")) all[e.localName] = (all[e.localName] ?? 0) + 1; return all; })()`
			tab.eval(t, count, &before)
			f.show(func(at time.Time) Sample { return uglyWith(text, at) })
			tab.eval(t, now, nil)
			shown := clip(text, 40)
			quoted, err := json.Marshal(strings.TrimSuffix(shown, "…"))
			if err != nil {
				t.Fatal(err)
			}
			tab.wait(t, "document.getElementById('live').textContent.includes("+string(quoted)+")")
			tab.eval(t, count, &after)
			for element, n := range after {
				if before[element] != n {
					t.Errorf("%d %s, with an ordinary text %d", n, element, before[element])
				}
			}
			var bad int
			tab.eval(t, `[...document.querySelectorAll("*")].filter((e) => e.getAttributeNames().some((n) => n.startsWith("on") || n === "src" || n === "style")
				|| e.localName === "a" && e.protocol !== "http:").length + (typeof hacked === "undefined" ? 0 : 1)`, &bad)
			if bad != 0 {
				t.Errorf("%d elements have what no text may give them", bad)
			}
			checkWidth(t, tab, 360)
			if said := tab.complained(); said != "" {
				t.Errorf("the browser complains: %s", said)
			}
		})
	}
}

// TestThePolicyStopsWhatGotInNevertheless: even a hole in the page would not be one.
func TestThePolicyStopsWhatGotInNevertheless(t *testing.T) {
	played.InChecks(t)
	f := openFront(t, ordinary, "")
	tab := openBrowser(t).open(t, 1280, false)
	tab.visit(t, f.URL+"/status")
	tab.eval(t, `(() => {
		document.body.insertAdjacentHTML("beforeend", "<img src='data:,' onerror='window.hacked = 1'><a id='trap' href='javascript:window.hacked=1'>x</a>");
		const script = document.createElement("script");
		script.textContent = "window.hacked = 1";
		document.body.append(script);
		document.getElementById("trap").click();
		return fetch("https://example.com/").then(() => { window.hacked = 1 }, () => {});
	})()`, nil)
	tab.wait(t, "performance.now() > 500")
	if kind := tab.text(t, "typeof hacked"); kind != "undefined" {
		t.Error("what was put into the page ran")
	}
	if said := tab.complained(); !strings.Contains(said, "Content Security Policy") {
		t.Errorf("the policy is not what stopped it: %s", said)
	}
}

// TestSilenceIsSaidPlainly: old values are not shown as if they were true.
func TestSilenceIsSaidPlainly(t *testing.T) {
	played.InChecks(t)
	t.Parallel() // it waits most of its time, as do its parts
	b := openBrowser(t)
	never := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	for name, with := range map[string]http.HandlerFunc{
		"an error":     func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) },
		"another page": func(w http.ResponseWriter, _ *http.Request) { text(w, http.StatusOK, "<p>Please log in") },
		"JSON of a proxy": func(w http.ResponseWriter, _ *http.Request) {
			answer(w, http.StatusOK, "application/json", []byte(`{"error":"log in"}`))
		},
		"another version that is gone again": func(w http.ResponseWriter, r *http.Request) {
			if r.URL.RawQuery == "" {
				w.WriteHeader(http.StatusBadGateway)
				return
			}
			answer(w, http.StatusOK, "application/json", []byte(`{"edition":"another","title":"x","icon":"","body":[]}`))
		},
		"a cut":     func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"no answer": never, "no answer after long": never,
		"what is not of the page": func(w http.ResponseWriter, _ *http.Request) {
			answer(w, http.StatusOK, "application/json", []byte(`{"edition":"`+newPage().edition+`","title":"x","icon":"","body":[["script",{},"hacked=1"]]}`))
		},
	} {
		t.Run(name, func(t *testing.T) {
			if strings.HasPrefix(name, "no answer") {
				played.Only(t)
			}
			t.Parallel()
			f := openFront(t, ordinary, "")
			tab := b.open(t, 360, false)
			tab.visit(t, f.URL+"/status")
			asOf := tab.text(t, "document.querySelector('header time').textContent")
			f.fail(with)
			most := 5000 // ms; the question is given up after ten
			if name == "no answer after long" {
				most = 3000
				tab.eval(t, "{ const now = Date.now; Date.now = () => now() + 3600_000; }", nil)
			}
			if strings.HasPrefix(name, "no answer") { // a timer of the page's own, as late as the script's on a slow machine
				var hidden bool
				tab.eval(t, fmt.Sprintf("%s; new Promise((done) => setTimeout(() => done(document.getElementById('stale').hidden), %d))", now, most), &hidden)
				if hidden {
					t.Errorf("it was not said within %d ms", most)
				}
			} else {
				tab.eval(t, now, nil)
			}
			tab.wait(t, "!document.getElementById('stale').hidden")
			if said := tab.text(t, "document.getElementById('stale').innerText"); !strings.Contains(said, "No answer from this process since "+asOf) {
				t.Errorf("it says %q, and the last answer was of %s", said, asOf)
			}
			if title := tab.text(t, "document.title"); !strings.HasPrefix(title, "No answer: Ready") {
				t.Errorf("the title is %q", title)
			}
			if opacity := tab.text(t, "getComputedStyle(document.getElementById('live')).opacity"); opacity == "1" {
				t.Error("the old values look as ever")
			}
			if name == "a cut" {
				keep(t, "silent-narrow-light", tab.picture(t, 360, 1200))
			}
			f.fail(nil)
			if !strings.HasPrefix(name, "no answer") { // that question is still open, and the next one follows by itself
				tab.eval(t, now, nil)
			}
			tab.wait(t, "document.getElementById('stale').hidden")
			if title := tab.text(t, "document.title"); !strings.HasPrefix(title, "Ready") {
				t.Errorf("afterwards the title is %q", title)
			}
		})
	}
}
