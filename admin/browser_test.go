package admin

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// browser is a Chromium without a window, spoken to over a pipe in the DevTools
// protocol: messages in JSON, each with a zero byte behind it. The few that are needed
// are written out here; a library would bring seven modules to everybody.
type browser struct {
	in *os.File

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

// openBrowser starts a browser with a profile of its own, which ends with the test.
func openBrowser(t *testing.T) *browser {
	t.Helper()
	path := browserPath(t)
	// Chromium's children may still write into the profile when it has ended, which
	// is why nobody insists on its removal.
	profile, err := os.MkdirTemp("", "chromium")
	if err != nil {
		t.Fatal(err)
	}
	theirIn, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-quic",
		"--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
		"--hide-scrollbars", "--force-device-scale-factor=1", "--force-color-profile=srgb", "--user-data-dir="+profile, "about:blank")
	cmd.ExtraFiles = []*os.File{theirIn, theirOut} // 3 and 4, as Chromium wants them
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirIn.Close()
	theirOut.Close()
	b := &browser{in: in, answers: make(map[int]chan reply), tabs: make(map[string]*tab)}
	read := make(chan struct{})
	go func() { // ends with the browser
		defer close(read)
		b.read(out)
	}()
	t.Cleanup(func() {
		in.Close() // which ends it
		ended := make(chan struct{})
		go func() {
			_ = cmd.Wait() // it may have to be killed below
			close(ended)
		}()
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			_ = cmd.Process.Kill()
			<-ended
		}
		out.Close()
		<-read
		os.RemoveAll(profile)
	})
	return b
}

// read hands answers to those who wait for them, and events to their tabs.
func (b *browser) read(out *os.File) {
	messages := bufio.NewReader(out)
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
	waiting := make(chan reply, 1)
	b.mu.Lock()
	if b.gone {
		b.mu.Unlock()
		t.Fatalf("%s: the browser has ended", method)
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
		t.Fatalf("%s: %v", method, err)
	}
	select {
	case answer, ok := <-waiting:
		switch {
		case !ok:
			t.Fatalf("%s: the browser has ended", method)
		case answer.Error != nil:
			t.Fatalf("%s: %s", method, answer.Error.Message)
		case out != nil:
			if err := json.Unmarshal(answer.Result, out); err != nil {
				t.Fatalf("%s: %v", method, err)
			}
		}
	case <-time.After(time.Minute):
		t.Fatalf("%s: no answer in a minute", method)
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

// eval returns the value of an expression in the page, as JSON.
func (p *tab) eval(t *testing.T, expression string, out any) {
	t.Helper()
	var result struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	p.do(t, "Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true, "allowUnsafeEvalBlockedByCSP": true}, &result)
	if result.ExceptionDetails != nil {
		t.Fatalf("%s: %s", expression, result.ExceptionDetails)
	}
	if out == nil {
		return
	}
	if err := json.Unmarshal(result.Result.Value, out); err != nil {
		t.Fatalf("%s: %s: %v", expression, result.Result.Value, err)
	}
}

// text returns the value of an expression that is a string.
func (p *tab) text(t *testing.T, expression string) (text string) {
	t.Helper()
	p.eval(t, expression, &text)
	return text
}

// wait asks until the expression is true.
func (p *tab) wait(t *testing.T, expression string) {
	t.Helper()
	var is bool
	for by := time.Now().Add(30 * time.Second); time.Now().Before(by); {
		p.eval(t, "new Promise((done) => setTimeout(() => done(!!("+expression+")), 20))", &is)
		if is {
			return
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
