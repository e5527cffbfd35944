package connect

import (
	"bufio"
	"context"
	"encoding/base64"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"layover/config"
)

// FuzzToken has a token endpoint answer with any bytes. There is a token or one error,
// and no error has a secret that the answer repeats.
func FuzzToken(f *testing.F) {
	const canary = "c4nary-of-the-vault"
	for _, answer := range []string{
		"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" + `{"access_token":"x","expires_in":300}`,
		"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" + `{"access_token":"SECRET ","expires_in":"SECRET"}`,
		"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\naccess_token=x&expires_in=300",
		"HTTP/1.1 400 SECRET\r\nContent-Type: application/json\r\n\r\n" + `{"error":"SECRET","error_description":"SECRET"}`,
		"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: SECRET\r\n\r\nSECRET",
		"HTTP/1.1 307 SECRET\r\nLocation: http://%SECRET\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: SECRET\r\n\r\n", "HTTP/1.1 200 OK\r\nSECRET\r\n\r\n", "HTTP/SECRET", "SECRET",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nSECRET\r\n", "HTTP/1.1 100 Continue\r\n\r\nSECRET", "HTTP/1.1 101 SECRET\r\nUpgrade: SECRET\r\n\r\n", "",
		"HTTP/1.1 200 OK\r\n\r\n" + `{"access_token":"` + jwt(`{"exp":1}`) + `"}`,
		"HTTP/1.1 200 OK\r\n\r\n" + `{"access_token":SECRET,"expires_in":1e99}`,
	} {
		f.Add([]byte(answer))
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		answer = []byte(strings.ReplaceAll(string(answer), "SECRET", canary))
		tokens := newTokens(&config.OAuth{TokenEndpoint: "http://localhost:1/", ClientID: config.NewSecret("client"), ClientSecret: config.NewSecret(canary)},
			func(context.Context, string, string) (net.Conn, error) {
				here, there := net.Pipe()
				go func() {
					defer there.Close()
					there.SetDeadline(time.Now().Add(time.Second))
					if _, err := http.ReadRequest(bufio.NewReader(there)); err == nil {
						there.Write(answer)
					}
				}()
				return here, nil
			})
		token, err := tokens.token(t.Context())
		switch {
		case (token == "") != (err != nil):
			t.Errorf("token %q and error %v", token, err)
		case err == nil && !isBearer(token):
			t.Errorf("token %q", token)
		case err == nil:
			if end := jwtEnd(token); !end.IsZero() && end.Before(time.Now()) || !tokens.until.After(time.Now().Add(-time.Minute)) {
				t.Errorf("token %q has ended", token)
			}
		default:
			if text := err.Error(); holdsSecret(text, canary) || strings.Contains(text, "\n") {
				t.Errorf("error %q", text)
			}
		}
	})
}

// FuzzEnd takes any token for a JWT: its end is after 1970 and before the year 40000, and
// that of its own claims.
func FuzzEnd(f *testing.F) {
	for _, token := range []string{"", "a.b.c", jwt(`{"exp":100}`), jwt(`{"exp":1e18}`), jwt(`{"exp":-1}`), jwt(`{"exp":null}`), jwt(`{"exp":0.5}`), "..", "\x00.\x00.\x00"} {
		f.Add(token)
	}
	f.Fuzz(func(t *testing.T, token string) {
		end := jwtEnd(token)
		if end.IsZero() {
			return
		}
		if end.Unix() < 0 || end.Year() > 40000 {
			t.Errorf("%q ends at %v", token, end)
		}
		parts := strings.Split(token, ".")
		if claims, err := base64.RawURLEncoding.DecodeString(parts[1]); err != nil || !strings.Contains(strings.ToLower(string(claims)), "exp") && !strings.Contains(string(claims), `\u`) {
			t.Errorf("%q ends at %v and has no such claim", token, end)
		}
	})
}
