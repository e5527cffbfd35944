package admin

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// The colours of the chart's bars, as page.css has them.
var (
	barInLight = color.NRGBA{0x25, 0x63, 0xeb, 0xff}
	barInDark  = color.NRGBA{0x60, 0xa5, 0xfa, 0xff}
)

// chromium returns the browser's path; without one the test is skipped.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"/usr/bin/chromium", "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("there is no chromium on the PATH to look at the page with")
	return ""
}

// browse runs the browser without a window, with a profile of its own that is
// gone afterwards, and returns what it writes.
func browse(t *testing.T, browser string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	// Chromium's children may still write into the profile when it has ended, which
	// is why nobody insists on its removal.
	profile, err := os.MkdirTemp("", "chromium")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(profile)
	cmd := exec.CommandContext(ctx, browser, append([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars", "--force-device-scale-factor=1",
		"--enable-logging=stderr", // what the page's console would say
		"--user-data-dir=" + profile,
	}, args...)...)
	cmd.WaitDelay = 10 * time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", browser, err, &stderr)
	}
	for line := range strings.Lines(stderr.String()) {
		if strings.Contains(line, "CONSOLE") { // among much about the machine
			t.Errorf("the browser complains: %s", line)
		}
	}
	return stdout.String()
}

// asked are the requests that a server got.
type asked struct {
	mu    sync.Mutex
	paths []string
}

func (a *asked) add(r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.paths = append(a.paths, r.Method+" "+r.Host+r.URL.Path)
}

func (a *asked) all() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.paths)
}

// serveScene answers every request with the page of s and notes it.
func serveScene(t *testing.T, s scene) (url string, requests *asked) {
	t.Helper()
	requests = new(asked)
	srv := newServer(s)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.add(r)
		srv.http.Handler.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	return front.URL, requests
}

func TestChromiumShowsThePageAndAsksForNothingElse(t *testing.T) {
	browser := chromium(t)
	for name, s := range scenes() {
		t.Run(name, func(t *testing.T) {
			url, requests := serveScene(t, s)
			dom := browse(t, browser, "--dump-dom", url+"/status")
			for _, want := range map[string][]string{
				"ordinary": {"125,388", "64.0 MiB of 256.0 MiB, 25.0 %", "40,520", "delayed/3", "Unaccounted for: 0"},
				"ugly":     {"Degraded", "&lt;script&gt;alert(\"x\")&lt;/script&gt;", "And 300 more", "delayed/498", "260.0 MiB of 256.0 MiB"},
				"fresh":    {"Not ready", "unknown", "None is assigned to this process"},
			}[name] {
				if !strings.Contains(dom, want) {
					t.Errorf("the document lacks %q", want)
				}
			}
			if strings.Contains(dom, "<script") || strings.Contains(dom, "<img") {
				t.Error("the document has elements that are not ours")
			}
			host := strings.TrimPrefix(url, "http://")
			if got, want := requests.all(), []string{"GET " + host + "/status"}; !slices.Equal(got, want) {
				t.Errorf("requests: %v, want %v", got, want)
			}
		})
	}
}

// TestChromiumDrawsThePage looks at pictures of the page, on a desk by day and on a
// phone by night. Run with -artifacts to keep them and look yourself.
func TestChromiumDrawsThePage(t *testing.T) {
	browser := chromium(t)
	dir := t.ArtifactDir()
	const height = 6000 // all of the page, with what is sick on top
	for name, s := range scenes() {
		for look, is := range map[string]struct {
			width  int
			scheme string
			bar    color.NRGBA
		}{"light": {1280, "1", barInLight}, "dark": {390, "0", barInDark}} {
			t.Run(name+" in "+look, func(t *testing.T) {
				url, _ := serveScene(t, s)
				file := filepath.Join(dir, name+"-"+look+".png")
				browse(t, browser, fmt.Sprintf("--window-size=%d,%d", is.width, height),
					"--blink-settings=preferredColorScheme="+is.scheme, "--screenshot="+file, url+"/status")
				picture := decode(t, file)
				if size := picture.Bounds().Size(); size != image.Pt(is.width, height) {
					t.Errorf("the picture has %v", size)
				}
				checkColours(t, picture, is.bar, look == "dark", len(s.Sample().Lanes) > 0)
			})
		}
	}
}

func decode(t *testing.T, file string) image.Image {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	picture, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	return picture
}

// checkColours: the corner is background, and the bars are there exactly where
// there is something that they stand for.
func checkColours(t *testing.T, picture image.Image, bar color.NRGBA, dark, bars bool) {
	t.Helper()
	if grey := color.GrayModel.Convert(picture.At(2, 2)).(color.Gray); (grey.Y < 64) != dark || dark == (grey.Y > 192) {
		t.Errorf("dark is %v, and the background's brightness %d of 255", dark, grey.Y)
	}
	size, painted := picture.Bounds().Size(), 0
	for y := range size.Y {
		for x := range size.X {
			if color.NRGBAModel.Convert(picture.At(x, y)) == bar {
				painted++
			}
		}
	}
	// The longest of the bars is at least an eighth as wide as the page, and 10 high.
	if enough := 10 * size.X / 8; bars && painted < enough || !bars && painted > 0 {
		t.Errorf("%d pixels of %v, bars expected: %v, then at least %d", painted, bar, bars, enough)
	}
}
