package admin

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// browser is a Chromium without a window, spoken to over a pipe in the DevTools
// protocol. Its messages are in JSON, each with a zero byte behind it. The few that
// are needed are written out here; a library would bring seven modules to everybody.
type browser struct {
	cmd     *exec.Cmd
	profile string
	in, out *os.File
	read    chan struct{} // closed once nothing comes out any more

	mu      sync.Mutex
	last    int
	answers map[int]chan reply
	tabs    map[string]*tab // by session
	gone    bool
}

type reply struct {
	Result json.RawMessage
	Error  *struct{ Message string }
}

// browserPath returns the path of a Chromium; without one the test is skipped.
func browserPath(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"/usr/bin/chromium", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable",
		"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("there is no chromium or google-chrome on the PATH to look at the page with")
	return ""
}

// shared is the browser of all tests: to start one takes longer than most of them.
// TestMain ends it.
var shared struct {
	sync.Mutex
	*browser
}

// openBrowser returns the shared browser, and starts one where there is none that lives.
func openBrowser(t *testing.T) *browser {
	t.Helper()
	path := browserPath(t)
	shared.Lock()
	defer shared.Unlock()
	if shared.browser != nil && shared.lives() {
		return shared.browser
	}
	closeBrowser()
	b, err := startBrowser(path)
	if err != nil {
		t.Fatal(err)
	}
	shared.browser = b
	return b
}

// closeBrowser ends the shared browser, if there is one.
func closeBrowser() {
	if shared.browser != nil {
		shared.close()
		shared.browser = nil
	}
}

// startBrowser starts a browser with a profile of its own.
func startBrowser(path string) (*browser, error) {
	profile, err := os.MkdirTemp("", "chromium")
	if err != nil {
		return nil, err
	}
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path, "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-quic",
		"--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
		"--hide-scrollbars", "--force-device-scale-factor=1", "--force-color-profile=srgb", "--user-data-dir="+profile, "about:blank")
	cmd.ExtraFiles = []*os.File{theirIn, theirOut} // 3 and 4, as Chromium wants them
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	theirIn.Close()
	theirOut.Close()
	b := &browser{cmd: cmd, profile: profile, in: in, out: out, read: make(chan struct{}), answers: make(map[int]chan reply), tabs: make(map[string]*tab)}
	go b.listen() // ends with the browser
	return b, nil
}

// close ends the browser, by force where it does not end by itself.
func (b *browser) close() {
	b.in.Close() // which ends it
	ended := make(chan struct{})
	go func() {
		_ = b.cmd.Wait() // it may have to be killed below
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		_ = b.cmd.Process.Kill()
		<-ended
	}
	b.out.Close()
	<-b.read
	// Chromium's children may still write into the profile when it has ended, which
	// is why nobody insists on its removal.
	os.RemoveAll(b.profile)
}

// lives reports whether the browser still speaks to us.
func (b *browser) lives() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.gone
}

// listen hands answers to those who wait for them, and events to their tabs.
func (b *browser) listen() {
	defer close(b.read)
	messages := bufio.NewReader(b.out)
	for {
		text, err := messages.ReadBytes(0)
		b.mu.Lock()
		if err != nil {
			b.gone = true
			for _, waiting := range b.answers {
				close(waiting)
			}
			b.answers = nil
			b.mu.Unlock()
			return
		}
		var m struct {
			ID        int
			Method    string
			SessionID string
			Params    json.RawMessage
			reply
		}
		if json.Unmarshal(text[:len(text)-1], &m) == nil {
			if waiting := b.answers[m.ID]; waiting != nil && m.ID != 0 {
				delete(b.answers, m.ID)
				waiting <- m.reply
			} else if tab := b.tabs[m.SessionID]; tab != nil {
				tab.note(m.Method, m.Params)
			}
		}
		b.mu.Unlock()
	}
}

// call sends a command and waits for its answer, which it puts into out unless that is nil.
func (b *browser) call(t *testing.T, session, method string, params, out any) {
	t.Helper()
	if err := b.ask(session, method, params, out); err != nil {
		t.Fatalf("%s: %v", method, err)
	}
}

// ask is call that returns its error.
func (b *browser) ask(session, method string, params, out any) error {
	waiting := make(chan reply, 1)
	b.mu.Lock()
	if b.gone {
		b.mu.Unlock()
		return errors.New("the browser has ended")
	}
	b.last++
	message := map[string]any{"id": b.last, "method": method, "params": params}
	if session != "" {
		message["sessionId"] = session
	}
	b.answers[b.last] = waiting
	text, err := json.Marshal(message)
	if err == nil {
		_, err = b.in.Write(append(text, 0))
	}
	b.mu.Unlock()
	if err != nil {
		return err
	}
	select {
	case answer, ok := <-waiting:
		switch {
		case !ok:
			return errors.New("the browser has ended")
		case answer.Error != nil:
			return errors.New(answer.Error.Message)
		case out != nil:
			return json.Unmarshal(answer.Result, out)
		}
		return nil
	case <-time.After(time.Minute):
		return errors.New("no answer in a minute")
	}
}

// tab is a page in the browser. At the end of the test, nothing may have been complained of.
type tab struct {
	*browser
	session    string
	complaints []string // of the console, the policy, and scripts that failed; under the browser's lock
}

// open opens a tab as wide as a desk's screen or a phone's, by day or at night.
func (b *browser) open(t *testing.T, width int, dark bool) *tab {
	t.Helper()
	var target struct{ TargetID string }
	b.call(t, "", "Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.call(t, "", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	p := &tab{browser: b, session: attached.SessionID}
	b.mu.Lock()
	b.tabs[p.session] = p
	b.mu.Unlock()
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		p.do(t, domain+".enable", nil, nil)
	}
	p.do(t, "Emulation.setFocusEmulationEnabled", map[string]any{"enabled": true}, nil) // other tabs are in front of it
	p.before(t, counting)
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	p.do(t, "Emulation.setEmulatedMedia", map[string]any{"features": []any{map[string]any{"name": "prefers-color-scheme", "value": scheme}}}, nil)
	p.do(t, "Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}, nil)
	t.Cleanup(func() { b.call(t, "", "Target.closeTarget", map[string]any{"targetId": target.TargetID}, nil) })
	return p
}

func (p *tab) do(t *testing.T, method string, params, out any) {
	t.Helper()
	if params == nil {
		params = struct{}{}
	}
	p.call(t, p.session, method, params, out)
}

// note keeps what the browser complains of.
func (p *tab) note(method string, params json.RawMessage) {
	switch method {
	case "Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled":
		p.complaints = append(p.complaints, string(params))
	}
}

// complained returns the complaints since the last call.
func (p *tab) complained() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := strings.Join(p.complaints, "\n")
	p.complaints = nil
	return all
}

// counting counts the questions of the page's script, and those whose answer was shown.
// The script shows an answer before anything else of the page runs.
const counting = `window.asked = window.shown = 0; {
	const ask = window.fetch;
	window.fetch = async (...all) => {
		window.asked++;
		const answer = await ask(...all), json = answer.json.bind(answer);
		answer.json = async () => { const body = await json(); window.shown++; return body; };
		return answer;
	};
}`

// before runs a script before each document's own.
func (p *tab) before(t *testing.T, script string) {
	t.Helper()
	p.do(t, "Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": script}, nil)
}

// eval returns the value of an expression in the page, as JSON.
func (p *tab) eval(t *testing.T, expression string, out any) {
	t.Helper()
	if err := p.tryEval(expression, out); err != nil {
		t.Fatal(err)
	}
}

// leave evaluates an expression that may load another document, with which its own
// answer is lost.
func (p *tab) leave(t *testing.T, expression string) {
	t.Helper()
	if err := p.tryEval(expression, nil); err != nil && !hasLeft(err) {
		t.Fatal(err)
	}
}

// hasLeft reports whether the document of an expression was left before its answer.
func hasLeft(err error) bool {
	for _, text := range []string{"Inspected target navigated or closed", "Execution context was destroyed", "Cannot find context", "Cannot find default execution context", "Promise was collected"} {
		if strings.Contains(err.Error(), text) {
			return true
		}
	}
	return false
}

// tryEval is eval that returns its error.
func (p *tab) tryEval(expression string, out any) error {
	var result struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	err := p.ask(p.session, "Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true, "allowUnsafeEvalBlockedByCSP": true}, &result)
	if err == nil && result.ExceptionDetails != nil {
		err = errors.New(string(result.ExceptionDetails))
	}
	if err == nil && out != nil {
		err = json.Unmarshal(result.Result.Value, out)
	}
	if err != nil {
		return fmt.Errorf("%s: %s: %w", expression, result.Result.Value, err)
	}
	return nil
}

// text returns the value of an expression that is a string.
func (p *tab) text(t *testing.T, expression string) (text string) {
	t.Helper()
	p.eval(t, expression, &text)
	return text
}

// wait asks until the expression is true, in whatever document the tab has then. It
// awaits no promise: that of a document that is left may never have an answer.
func (p *tab) wait(t *testing.T, expression string) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for by := time.Now().Add(30 * time.Second); time.Now().Before(by); <-tick.C {
		var is bool
		err := p.tryEval("!!("+expression+")", &is)
		if is {
			return
		}
		if err != nil && !hasLeft(err) {
			t.Fatal(err)
		}
	}
	t.Fatalf("in 30 s it did not come true: %s\n%s", expression, p.text(t, "document.body.innerText"))
}

// visit goes to a page and waits until it is there.
func (p *tab) visit(t *testing.T, url string) {
	t.Helper()
	var answer struct{ ErrorText string }
	p.do(t, "Page.navigate", map[string]any{"url": url}, &answer)
	if answer.ErrorText != "" {
		t.Fatalf("%s: %s", url, answer.ErrorText)
	}
	p.wait(t, "document.readyState === 'complete' && location.href !== 'about:blank'")
}

// picture returns all of the page as PNG, as high as it is but at most limit.
func (p *tab) picture(t *testing.T, width, limit int) []byte {
	t.Helper()
	var height int
	p.eval(t, "Math.ceil(document.documentElement.getBoundingClientRect().height)", &height)
	var shot struct{ Data string }
	p.do(t, "Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": true, "optimizeForSpeed": false,
		"clip": map[string]any{"x": 0, "y": 0, "width": width, "height": min(height, limit), "scale": 1}}, &shot)
	data, err := base64.StdEncoding.DecodeString(shot.Data)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
