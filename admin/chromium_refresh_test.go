package admin

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	played "layover/verify/long"
)

// hurry makes every wait of the page's script 20 times shorter.
const hurry = `{ const slow = window.setTimeout; window.setTimeout = (f, ms, ...all) => slow(f, ms / 20, ...all); }`

// refresh makes the script ask at once, and waits until it has shown the answer.
func (p *tab) refresh(t *testing.T) {
	t.Helper()
	var shown int
	p.eval(t, "window.shown", &shown)
	p.eval(t, now, nil)
	p.wait(t, fmt.Sprintf("window.shown > %d", shown))
}

// eventually waits until is holds.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for by := time.Now().Add(30 * time.Second); !is(); <-tick.C {
		if time.Now().After(by) {
			t.Fatalf("in 30 s it did not come true: %s", what)
		}
	}
}

func (f *front) contents() (n int) {
	for _, path := range f.all() {
		if strings.HasSuffix(path, "?format=page") {
			n++
		}
	}
	return n
}

func TestTheScriptAsksAgainAndAgainButNotForAHiddenTab(t *testing.T) {
	played.Only(t)
	t.Parallel()
	f := openFront(t, ordinary, "")
	tab := openBrowser(t).open(t, 1280, false)
	tab.before(t, hurry+`Object.defineProperty(document, "hidden", { get: () => window.away === true });`)
	tab.visit(t, f.URL+"/status")
	eventually(t, "it asks", func() bool { return f.contents() > 3 })
	var before, after int
	tab.eval(t, "window.away = true; "+now+"; window.asked", &before)
	tab.eval(t, "new Promise((done) => setTimeout(() => done(window.asked), 20000))", &after) // four times its interval
	if after != before {
		t.Errorf("%d questions for a tab that nobody sees", after-before)
	}
	told := f.contents()
	tab.eval(t, "window.away = false; "+now, nil)
	eventually(t, "it asks again", func() bool { return f.contents() > told+3 })
}

func TestThePageThatWasToldNotToRefreshDoesNot(t *testing.T) {
	played.Only(t)
	t.Parallel()
	f := openFront(t, ordinary, "")
	tab := openBrowser(t).open(t, 1280, false)
	tab.before(t, hurry)
	tab.visit(t, f.URL+"/status?format=html&refresh=off")
	tab.eval(t, now+"; new Promise((done) => setTimeout(done, 20000))", nil)
	if all := f.all(); len(all) != 1 {
		t.Errorf("requests: %v", all)
	}
}

func TestWithoutScriptTheBrowserLoadsThePageAgain(t *testing.T) {
	played.Only(t)
	t.Parallel()
	f := openFront(t, ordinary, "")
	tab := openBrowser(t).open(t, 1280, false)
	tab.do(t, "Emulation.setScriptExecutionDisabled", map[string]any{"value": true}, nil)
	tab.do(t, "Page.navigate", map[string]any{"url": f.URL + "/status"}, nil)
	eventually(t, "it is loaded again", func() bool { return len(f.all()) > 1 })
	for _, path := range f.all() {
		if path != "GET /status" {
			t.Errorf("%s was asked for", path)
		}
	}
}

func TestThePageWorksBelowAPrefix(t *testing.T) {
	f := openFront(t, ordinary, "/team/layover")
	tab := openBrowser(t).open(t, 1280, false)
	tab.visit(t, f.URL+"/team/layover/")
	tab.leave(t, "document.querySelector('main a').click()")
	tab.wait(t, "document.getElementById('live')")
	if place := tab.text(t, "location.pathname"); place != "/team/layover/status" {
		t.Fatalf("the bare address leads to %s", place)
	}
	f.show(fresh)
	tab.eval(t, now, nil)
	tab.wait(t, "document.title.startsWith('Not ready')")
	var links []string
	tab.eval(t, `[...document.querySelectorAll("a")].map((a) => a.pathname)`, &links)
	for _, link := range links {
		if !strings.HasPrefix(link, "/team/layover/") {
			t.Errorf("a link leads to %s", link)
		}
	}
}

// TestAnotherVersionIsLoadedWhole: its content may need its own style.
func TestAnotherVersionIsLoadedWhole(t *testing.T) {
	played.InChecks(t)
	f := openFront(t, ordinary, "")
	tab := openBrowser(t).open(t, 1280, false)
	tab.visit(t, f.URL+"/status")
	tab.eval(t, "document.getElementById('live').dataset.edition = 'another'", nil)
	tab.leave(t, now)
	eventually(t, "it is loaded again", func() bool {
		n := 0
		for _, path := range f.all() {
			if path == "GET /status" {
				n++
			}
		}
		return n == 2
	})
}

// TestAnAddressWithAPasswordIsAskedAgain: a proxy may want a login, and a bookmark may
// have it. A browser refuses to fetch an address that has one.
func TestAnAddressWithAPasswordIsAskedAgain(t *testing.T) {
	played.InChecks(t)
	f := openFront(t, ordinary, "")
	var refused atomic.Int64
	f.fail(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "reader" || password != "secret" {
			refused.Add(1)
			w.Header().Set("WWW-Authenticate", "Basic")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		f.admin.http.Handler.ServeHTTP(w, r)
	})
	tab := openBrowser(t).open(t, 1280, false)
	tab.visit(t, strings.Replace(f.URL, "//", "//reader:secret@", 1)+"/status")
	f.show(fresh)
	tab.eval(t, now, nil)
	tab.wait(t, "window.asked > 0 && (window.shown > 0 || !document.getElementById('stale').hidden)")
	if title := tab.text(t, "document.title"); !strings.HasPrefix(title, "Not ready") {
		t.Errorf("the title is %q; the page is of %s", title, tab.text(t, "document.baseURI"))
	}
}
