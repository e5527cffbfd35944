package connect

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strconv"
)

// httpClient returns a client for what gives credentials.
func httpClient(dial dialFunc, conf *tls.Config) *http.Client {
	return &http.Client{Transport: noRedirect{&http.Transport{
		DialContext: dial, TLSClientConfig: conf, Proxy: proxy, ForceAttemptHTTP2: true, DisableKeepAlives: true,
	}}}
}

// proxy is the one of the process's environment, as users of HTTPS_PROXY expect. Without
// TLS an endpoint is on this host or this link, and a proxy could read the secret.
func proxy(r *http.Request) (*url.URL, error) {
	if r.URL.Scheme != "https" {
		return nil, nil
	}
	return http.ProxyFromEnvironment(r)
}

// noRedirect takes the new place from answers: a client that follows it would take the
// secret there.
type noRedirect struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (n noRedirect) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := n.RoundTripper.RoundTrip(r)
	if answer != nil {
		answer.Header.Del("Location")
	}
	return answer, err
}

// unanswered says why there is no answer of use. The errors that it repeats are made on
// this side; others may quote an answer, which may quote the secret.
func unanswered(err error) string {
	var (
		dns       *net.DNSError
		op        *net.OpError
		header    tls.RecordHeaderError
		verify    *tls.CertificateVerificationError
		authority x509.UnknownAuthorityError
		name      x509.HostnameError
		invalid   x509.CertificateInvalidError
		timeout   net.Error
	)
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "no answer in time"
	case errors.As(err, &dns):
		return dns.Error()
	case errors.As(err, &verify):
		return verify.Error()
	case errors.As(err, &authority):
		return authority.Error()
	case errors.As(err, &name):
		return name.Error()
	case errors.As(err, &invalid):
		return invalid.Error()
	case errors.As(err, &header):
		return header.Msg
	case errors.As(err, &op):
		return op.Error()
	}
	return "its answer cannot be understood"
}

// statusText is a status code with the standard's word for it, and not the answer's.
func statusText(code int) string {
	if text := http.StatusText(code); text != "" {
		return strconv.Itoa(code) + " " + text
	}
	return strconv.Itoa(code)
}
