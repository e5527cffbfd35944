package doctor

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"layover/cli/health"
	"layover/cluster/doctor"
	"layover/config"
)

const (
	// timeout bounds the question: the process is on this machine.
	timeout = 3 * time.Second
	// maxStatusBytes bounds the answer, in case something else listens there.
	maxStatusBytes = 16 << 20
)

// instanceOf returns how to ask the Layover at LAYOVER_HTTP_ADDR; nil where the address
// does not say the port.
func instanceOf(cfg *config.Config) func(context.Context) (*doctor.Instance, error) {
	url, err := health.ProbeURL(cfg.HTTPAddr, "/status", cfg.HTTP.TLS.On())
	if err != nil {
		return nil
	}
	return func(ctx context.Context) (*doctor.Instance, error) { return status(ctx, url) }
}

// status asks an instance. Any certificate is taken, as by the verb health: nothing secret
// is asked or sent.
func status(ctx context.Context, url string) (*doctor.Instance, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", url, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", url, resp.Status)
	}
	var i doctor.Instance
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxStatusBytes)).Decode(&i); err != nil {
		return nil, fmt.Errorf("%s does not answer as Layover does: %w", url, err)
	}
	return &i, nil
}
