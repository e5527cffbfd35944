package connect

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"layover/config"
)

const (
	endpointAddr = "localhost:8080"
	clientSecret = "s3cret/of+the client"
)

// endpoint is a token endpoint in a bubble, and its one user.
type endpoint struct {
	*fixture
	tokens *tokens
	asked  atomic.Int32 // requests
	most   atomic.Int32 // at a time
	now    atomic.Int32
}

// withEndpoint runs f with an endpoint that answers by answer.
func withEndpoint(t *testing.T, answer http.HandlerFunc, f func(e *endpoint)) {
	t.Helper()
	inBubble(t, func(w *fixture) {
		e := &endpoint{fixture: w}
		w.serve(endpointAddr, func(rw http.ResponseWriter, r *http.Request) {
			e.asked.Add(1)
			e.most.Store(max(e.most.Load(), e.now.Add(1)))
			defer e.now.Add(-1)
			body, _ := io.ReadAll(r.Body) // only behind it the server notices that a client is gone
			r.Body = io.NopCloser(bytes.NewReader(body))
			answer(rw, r)
		})
		e.tokens = newTokens(oauthSettings(), w.network.DialContext)
		f(e)
	})
}

func oauthSettings() *config.OAuth {
	return &config.OAuth{
		TokenEndpoint: "http://" + endpointAddr + "/token", ClientID: config.NewSecret("client"), ClientSecret: config.NewSecret(clientSecret),
		Scopes: []string{"kafka", "write"}, Audience: "brokers",
	}
}

// says answers with a status and JSON.
func says(status int, body string) http.HandlerFunc {
	return func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		rw.WriteHeader(status)
		io.WriteString(rw, body)
	}
}

// numbered answers with token-1, token-2 and so on, and what else is in format.
func numbered(format string) http.HandlerFunc {
	var n atomic.Int32
	return func(rw http.ResponseWriter, r *http.Request) {
		says(200, fmt.Sprintf(`{"access_token":"token-%d","token_type":"Bearer"`+format+`}`, n.Add(1)))(rw, r)
	}
}

// gives wants a token.
func (e *endpoint) gives(want string) {
	e.Helper()
	if got, err := e.tokens.token(e.Context()); err != nil || got != want {
		e.Errorf("token %q, error %v, want %q", got, err, want)
	}
}

func TestClientCredentialsAreInTheBodyAlone(t *testing.T) {
	var got *http.Request
	var body string
	withEndpoint(t, func(rw http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		got, body = r, string(text)
		numbered("")(rw, r)
	}, func(e *endpoint) {
		e.gives("token-1")
		form, err := url.ParseQuery(body)
		want := url.Values{"grant_type": {"client_credentials"}, "client_id": {"client"}, "client_secret": {clientSecret}, "scope": {"kafka write"}, "audience": {"brokers"}}
		if err != nil || form.Encode() != want.Encode() || got.Method != "POST" || got.URL.String() != "/token" || got.Header.Get("Content-Type") != "application/x-www-form-urlencoded" {
			t.Errorf("%s %s with %q, want a form of %q", got.Method, got.URL, body, want.Encode())
		}
		for name, values := range got.Header {
			for _, v := range values {
				if name == "Authorization" || holdsSecret(v, clientSecret) {
					t.Errorf("header %s: %s", name, v)
				}
			}
		}
	})
}

func TestATokenIsUsedUntilItsEnd(t *testing.T) {
	withEndpoint(t, numbered(`,"expires_in":300`), func(e *endpoint) {
		e.gives("token-1")
		time.Sleep(300*time.Second - tokenMargin - time.Millisecond)
		e.gives("token-1")
		time.Sleep(2 * time.Millisecond)
		e.gives("token-2")
		time.Sleep(24 * time.Hour)
		e.gives("token-3")
		if n := e.asked.Load(); n != 3 {
			t.Errorf("%d requests, want 3", n)
		}
	})
}

func TestAShortTokenIsUsedForNineTenths(t *testing.T) {
	withEndpoint(t, numbered(`,"expires_in":10`), func(e *endpoint) {
		e.gives("token-1")
		time.Sleep(9*time.Second - time.Millisecond)
		e.gives("token-1")
		time.Sleep(2 * time.Millisecond)
		e.gives("token-2")
	})
}

func TestATokenWithoutAnEndIsUsedOnce(t *testing.T) {
	withEndpoint(t, numbered(""), func(e *endpoint) {
		e.gives("token-1")
		e.gives("token-2")
	})
}

// jwt is a token with claims.
func jwt(claims string) string {
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln"
}

func TestTheEarlierOfTwoEndsCounts(t *testing.T) {
	withEndpoint(t, func(rw http.ResponseWriter, r *http.Request) {
		says(200, fmt.Sprintf(`{"access_token":%q,"expires_in":300}`, jwt(fmt.Sprintf(`{"exp":%d}`, time.Now().Unix()+100))))(rw, r)
	}, func(e *endpoint) {
		for _, want := range []int32{1, 1, 2} {
			if _, err := e.tokens.token(e.Context()); err != nil || e.asked.Load() != want {
				t.Errorf("error %v, %d requests, want %d", err, e.asked.Load(), want)
			}
			time.Sleep(60 * time.Second)
		}
	})
}

func TestATokenThatHasEndedIsNotUsed(t *testing.T) {
	for name, answer := range map[string]string{"by its claims": `{"access_token":"` + jwt(`{"exp":100}`) + `","expires_in":300}`, "by the answer": `{"access_token":"x","expires_in":-5}`} {
		t.Run(name, func(t *testing.T) {
			withEndpoint(t, says(200, answer), func(e *endpoint) {
				for range 2 {
					e.fails("KAFKA_SASL_OAUTH_TOKEN_ENDPOINT", "has ended already")
				}
			})
		})
	}
}

// fails wants no token, and an error that names a setting and nothing secret.
func (e *endpoint) fails(variable, text string) {
	e.Helper()
	token, err := e.tokens.token(e.Context())
	var c *credentialError
	if token != "" || !errors.As(err, &c) || c.lookAt != variable || !strings.Contains(err.Error(), text) || strings.Contains(err.Error(), "\n") {
		e.Errorf("token %q, error %v, want one of %s: %s", token, err, variable, text)
	}
	if err != nil && holdsSecret(err.Error(), clientSecret) {
		e.Errorf("error %v has the secret", err)
	}
}

func TestWhatAnEndpointGetsWrong(t *testing.T) {
	const at = "KAFKA_SASL_OAUTH_TOKEN_ENDPOINT"
	repeat := func(status int, code string) http.HandlerFunc { // with the secret in every field
		return func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("WWW-Authenticate", "Basic "+clientSecret)
			says(status, fmt.Sprintf(`{"error":%q,"error_description":%q,"error_uri":%q}`, code, "no client with "+clientSecret, clientSecret))(rw, r)
		}
	}
	for name, want := range map[string]struct {
		answer         http.HandlerFunc
		variable, text string
	}{
		"401":                     {repeat(401, "invalid_client"), "KAFKA_SASL_OAUTH_CLIENT_SECRET", "401 Unauthorized"},
		"401 without a code":      {says(401, clientSecret), "KAFKA_SASL_OAUTH_CLIENT_SECRET", "401 Unauthorized"},
		"another client's":        {repeat(400, "unauthorized_client"), "KAFKA_SASL_OAUTH_CLIENT_SECRET", "400 Bad Request"},
		"a scope":                 {repeat(400, "invalid_scope"), "KAFKA_SASL_OAUTH_SCOPES", "400 Bad Request"},
		"a grant":                 {repeat(400, "invalid_grant"), at, "says invalid_grant: 400"},
		"a code that is a secret": {repeat(400, clientSecret), at, "no token in its answer: 400"},
		"an error with 200":       {repeat(200, "invalid_request"), at, "says invalid_request: 200"},
		"500":                     {says(500, clientSecret), at, "no token in its answer: 500 Internal Server Error"},
		"an own status":           {says(599, clientSecret), at, "no token in its answer: 599"},
		"no token":                {says(200, `{"token_type":"Bearer"}`), at, "cannot be understood"},
		"no JSON":                 {says(200, "<html>"+clientSecret), at, "cannot be understood"},
		"an end that is none":     {says(200, fmt.Sprintf(`{"access_token":"x","expires_in":%q}`, clientSecret)), at, "cannot be understood"},
		"a token that is none":    {says(200, `{"access_token":"`+clientSecret+`\u0001auth="}`), at, "characters that none may have"},
		"a form that is none": {func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Content-Type", "text/plain")
			io.WriteString(rw, "%"+clientSecret)
		}, at, "cannot be understood"},
		"a huge answer": {says(200, `{"access_token":"`+strings.Repeat("x", 2<<20)+`"}`), at, "cannot be understood"},
		"a place that is none": {func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Location", "http://%"+clientSecret)
			rw.WriteHeader(307)
		}, at, "307 Temporary Redirect"},
		"an answer cut short": {func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Content-Length", "1000")
			io.WriteString(rw, "{")
		}, at, "cannot be understood"},
		"never": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, at, "no answer in time"},
		"drops": {func(rw http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				io.WriteString(rw, " ")
				http.NewResponseController(rw).Flush()
				time.Sleep(time.Second)
			}
		}, at, "no answer in time"},
	} {
		t.Run(name, func(t *testing.T) {
			withEndpoint(t, want.answer, func(e *endpoint) {
				began := time.Now()
				e.fails(want.variable, want.text)
				if took := time.Since(began); took > tokenTimeout {
					t.Errorf("took %v, want %v at most", took, tokenTimeout)
				}
				e.fails(want.variable, want.text) // asked again, and not kept
				if n := e.asked.Load(); n != 2 {
					t.Errorf("%d requests, want 2", n)
				}
			})
		})
	}
}

func TestATokenFileIsReadAgain(t *testing.T) {
	const at = "KAFKA_SASL_OAUTH_TOKEN_FILE"
	inBubble(t, func(w *fixture) {
		e := &endpoint{fixture: w, tokens: newTokens(&config.OAuth{Token: w.file("token", "first\n")}, w.network.DialContext)}
		e.gives("first")
		fresh := jwt(fmt.Sprintf(`{"exp":%d.5}`, time.Now().Unix()+100))
		w.write("token", fresh)
		e.gives(fresh)
		time.Sleep(99 * time.Second)
		e.gives(fresh)
		time.Sleep(2 * time.Second)
		e.fails(at, "has ended at 2000-01-01T00:01:40Z, and nothing has written a new one")
		w.write("token", "a page, no token")
		e.fails(at, "is no token")
		w.write("token", "")
		e.fails(at, "is empty")
		w.write("token", "second")
		e.gives("second")
	})
}

func TestTheEndOfAToken(t *testing.T) {
	for claims, want := range map[string]int64{
		`{"exp":100}`: 100, `{"exp":1.5e2}`: 150, `{}`: 0, `{"exp":"100"}`: 0, `{"exp":-1}`: 0, `{"exp":1e300}`: 0, `[]`: 0, `{"exp":0}`: 0, `no`: 0,
	} {
		end := jwtEnd(jwt(claims))
		if want == 0 && !end.IsZero() || want != 0 && end.Unix() != want {
			t.Errorf("%s ends at %v, want %d", claims, end, want)
		}
	}
	for _, token := range []string{"", "a.b", "a.b.c.d", "a.!.c"} {
		if !jwtEnd(token).IsZero() {
			t.Errorf("%q has an end", token)
		}
	}
}

func TestATokenGoesToTheBrokerWithItsExtensions(t *testing.T) {
	withEndpoint(t, numbered(`,"expires_in":300`), func(e *endpoint) {
		e.start()
		e.judge(func(string) (int16, string, string) { return 0, "", "" })
		o := oauthSettings()
		o.Extensions = []string{"logicalCluster=lkc-1", "identityPoolId=a=b"}
		c := e.connect(config.Kafka{SASL: config.SASL{Mechanism: config.MechanismOAuth, OAuth: *o}})
		for range 2 { // sessions
			if err := e.ping(c); err != nil {
				t.Fatal(err)
			}
		}
		const want = "n,,\x01auth=Bearer token-1\x01identityPoolId=a=b\x01logicalCluster=lkc-1\x01\x01"
		e.sent(want, want)
	})
}

func TestABrokerThatDoesNotTakeTheToken(t *testing.T) {
	withEndpoint(t, numbered(`,"expires_in":300`), func(e *endpoint) {
		e.start()
		e.judge(func(string) (int16, string, string) { return 0, "", `{"status":"invalid_token"}` })
		c := e.connect(config.Kafka{SASL: config.SASL{Mechanism: config.MechanismOAuth, OAuth: *oauthSettings()}})
		err := e.ping(c)
		if s := c.Status(); err == nil || len(s.Refused) != 1 || s.Refused[0].Reason != ReasonLogin || !strings.Contains(s.Refused[0].LookAt, "KAFKA_SASL_OAUTH_SCOPES") {
			t.Errorf("error %v, status %+v, want a refusal of the login", err, s)
		}
	})
}
