package connect

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"layover/config"
)

const (
	endpointVariable = "KAFKA_SASL_OAUTH_TOKEN_ENDPOINT"

	tokenTimeout = 10 * time.Second
	// tokenMargin is how long before its end a token is no longer used: it has to be
	// valid when the broker looks at it.
	tokenMargin = 10 * time.Second
)

// tokens are the bearer tokens of one login.
type tokens struct {
	cfg  *config.OAuth
	dial dialFunc

	// turn has room for one: who puts something in asks the endpoint, and has the fields
	// below until it is taken out.
	turn   chan struct{}
	cached string
	until  time.Time // the end of cached, less the margin
	failed error     // of the last request; nil if there was a token
	asked  time.Time // end of the last request

	refused atomic.Bool // a broker did not take the login: cached is not used again
}

func newTokens(cfg *config.OAuth, dial dialFunc) *tokens {
	return &tokens{cfg: cfg, dial: dial, turn: make(chan struct{}, 1)}
}

// renew forgets the cached token.
func (t *tokens) renew() { t.refused.Store(true) }

// token returns a token that has not ended: from its file, from the last answer of the
// endpoint, or from a new one. Requests are made one at a time, and whoever waited for
// one that failed has failed with it.
func (t *tokens) token(ctx context.Context) (string, error) {
	if t.cfg.Token.IsSet() {
		return t.fromFile()
	}
	began := time.Now()
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if t.refused.Swap(false) {
		t.cached = ""
	}
	if t.cached != "" && time.Now().Before(t.until) {
		return t.cached, nil
	}
	if t.failed != nil && t.asked.After(began) {
		return "", t.failed
	}
	token, err := t.ask(ctx)
	t.failed, t.asked = err, time.Now()
	if err != nil && ctx.Err() != nil { // the client that asked was closed
		t.failed = nil
		return "", ctx.Err()
	}
	return token, err
}

// ask gets a new token, and keeps it where its end is known.
func (t *tokens) ask(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, tokenTimeout)
	defer cancel()
	token, err := t.fetch(ctx)
	if err != nil {
		return "", err
	}
	if !isBearer(token.AccessToken) {
		return "", lookAt(endpointVariable, "the token in its answer has characters that none may have")
	}
	now := time.Now()
	t.cached, t.until = token.AccessToken, now // used once, where its end is not known
	if end := earlier(token.Expiry, jwtEnd(token.AccessToken)); !end.IsZero() {
		if !end.After(now) {
			t.cached = ""
			return "", lookAt(endpointVariable, "its token has ended already, at %s: compare the clocks", end.UTC().Format(time.RFC3339))
		}
		t.until = end.Add(-min(tokenMargin, end.Sub(now)/10))
	}
	return t.cached, nil
}

func (t *tokens) fromFile() (string, error) {
	const variable = "KAFKA_SASL_OAUTH_TOKEN_FILE"
	token, err := read(t.cfg.Token, variable)
	if err != nil {
		return "", err
	}
	if !isBearer(token) {
		return "", lookAt(variable, "what is in it is no token: it has characters that none may have")
	}
	if end := jwtEnd(token); !end.IsZero() && !end.After(time.Now()) {
		return "", lookAt(variable, "its token has ended at %s, and nothing has written a new one", end.UTC().Format(time.RFC3339))
	}
	return token, nil
}

// fetch asks the endpoint, by client credentials in the body (RFC 6749, 4.4).
func (t *tokens) fetch(ctx context.Context) (*oauth2.Token, error) {
	id, err := read(t.cfg.ClientID, "KAFKA_SASL_OAUTH_CLIENT_ID")
	if err != nil {
		return nil, err
	}
	secret, err := read(t.cfg.ClientSecret, "KAFKA_SASL_OAUTH_CLIENT_SECRET")
	if err != nil {
		return nil, err
	}
	client, err := t.client()
	if err != nil {
		return nil, err
	}
	cc := clientcredentials.Config{
		ClientID: id, ClientSecret: secret, TokenURL: t.cfg.TokenEndpoint, Scopes: t.cfg.Scopes, AuthStyle: oauth2.AuthStyleInParams,
	}
	if t.cfg.Audience != "" {
		cc.EndpointParams = url.Values{"audience": {t.cfg.Audience}}
	}
	token, err := cc.Token(context.WithValue(ctx, oauth2.HTTPClient, client))
	if ctx.Err() != nil { // of a body that does not end the error is a text
		err = ctx.Err()
	}
	if err != nil {
		return nil, endpointError(err)
	}
	return token, nil
}

// client trusts the authorities of the settings.
func (t *tokens) client() (*http.Client, error) {
	roots, err := t.cfg.Authorities(time.Now())
	if err != nil {
		return nil, lookAt("KAFKA_SASL_OAUTH_CA", "%w", err)
	}
	trusted := config.Certificates{CAs: roots}
	return httpClient(t.dial, &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: trusted.Pool()}), nil
}

// endpointError names the setting to look at. Of an answer it repeats the status code and
// the error code of RFC 6749, and no text: that may repeat the request.
func endpointError(err error) error {
	answer, ok := errors.AsType[*oauth2.RetrieveError](err)
	if !ok {
		return lookAt(endpointVariable, "no token: %s", unanswered(err))
	}
	status := statusText(answer.Response.StatusCode)
	switch {
	case answer.ErrorCode == "invalid_client" || answer.ErrorCode == "unauthorized_client" || answer.Response.StatusCode == http.StatusUnauthorized:
		return lookAt("KAFKA_SASL_OAUTH_CLIENT_SECRET", "the token endpoint takes neither the client nor its secret: %s", status)
	case answer.ErrorCode == "invalid_scope":
		return lookAt("KAFKA_SASL_OAUTH_SCOPES", "the token endpoint does not allow them: %s", status)
	case codes[answer.ErrorCode]:
		return lookAt(endpointVariable, "the token endpoint says %s: %s", answer.ErrorCode, status)
	}
	return lookAt(endpointVariable, "no token in its answer: %s", status)
}

// codes are the errors of RFC 6749, 5.2.
var codes = map[string]bool{"invalid_request": true, "invalid_grant": true, "unsupported_grant_type": true}

// isBearer reports whether a token is of the characters of RFC 6750, 2.1: others could
// end it on the wire.
func isBearer(token string) bool {
	return token != "" && !strings.ContainsFunc(token, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-._~+/=", r)
	})
}

// jwtEnd is the end of a token that is a JWT and has one; zero otherwise. Its signature is
// for the broker to check.
func jwtEnd(token string) time.Time {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return time.Time{}
	}
	claims, err := base64.RawURLEncoding.DecodeString(parts[1])
	var has struct {
		End float64 `json:"exp"`
	}
	if err != nil || json.Unmarshal(claims, &has) != nil || has.End <= 0 || has.End > 1<<40 {
		return time.Time{}
	}
	return time.Unix(int64(has.End), 0)
}

// earlier is the earlier of two times that are not zero.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
