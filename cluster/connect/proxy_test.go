package connect

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

func discard() *log.Logger { return log.New(io.Discard, "", 0) }

// inProxiedChild runs f in a process of its own: net/http reads HTTPS_PROXY once. proxied
// returns the requests that the proxy got.
func inProxiedChild(t *testing.T, f func(proxied func() []string)) {
	t.Helper()
	const variable, list = "CONNECT_TEST_PROXY", "/list"
	if proxy := os.Getenv(variable); proxy != "" {
		f(func() []string {
			answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get(proxy + list)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			text, _ := io.ReadAll(answer.Body)
			return strings.Split(string(text), "\n")
		})
		return
	}
	var mu sync.Mutex
	var all []string
	proxy := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.URL.Path == list {
			io.WriteString(rw, strings.Join(all, "\n"))
			return
		}
		all = append(all, r.Method+" "+r.Host)
		http.Error(rw, "no "+clientSecret, http.StatusBadGateway)
	}))
	defer proxy.Close()
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), variable+"="+proxy.URL, "HTTPS_PROXY="+proxy.URL, "HTTP_PROXY="+proxy.URL, "NO_PROXY=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
