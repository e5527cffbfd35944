package config

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"sync"
	"testing"
	"time"
)

// pki is certificates and keys in PEM, made once by [certificates].
type pki struct {
	ca, oldCA             string // an authority, and one that has expired
	cert, key             string // of a client, by ca
	oldCert               string // of the same key, expired
	otherKey, rsaKey      string // keys that fit no certificate here
	encrypted, encrypted8 string // two forms of a key with a passphrase
	der                   string // cert, not in PEM
}

var makeCertificates = sync.OnceValue(func() pki {
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	newKey := func() *ecdsa.PrivateKey {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		must(err)
		return key
	}
	block := func(kind string, der []byte, headers map[string]string) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der, Headers: headers}))
	}
	pkcs8 := func(key any) []byte {
		der, err := x509.MarshalPKCS8PrivateKey(key)
		must(err)
		return der
	}
	now := time.Now()
	authority, client := newKey(), newKey()
	root := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "root"}, IsCA: true, BasicConstraintsValid: true}
	certify := func(template, parent *x509.Certificate, key *ecdsa.PrivateKey, notAfter time.Time) []byte {
		template.NotBefore, template.NotAfter = now.Add(-48*time.Hour), notAfter
		der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, authority)
		must(err)
		return der
	}
	leaf := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "layover"}}
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	must(err)
	later, before := now.Add(48*time.Hour), now.Add(-time.Hour)
	der := certify(leaf, root, client, later)
	return pki{
		ca:         block("CERTIFICATE", certify(root, root, authority, later), nil),
		oldCA:      block("CERTIFICATE", certify(root, root, authority, before), nil),
		cert:       block("CERTIFICATE", der, nil),
		oldCert:    block("CERTIFICATE", certify(leaf, root, client, before), nil),
		key:        block("PRIVATE KEY", pkcs8(client), nil),
		otherKey:   block("PRIVATE KEY", pkcs8(newKey()), nil),
		rsaKey:     block("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(rsaKey), nil),
		encrypted:  block("EC PRIVATE KEY", []byte("hunter2"), map[string]string{"Proc-Type": "4,ENCRYPTED", "DEK-Info": "AES-256-CBC,00"}),
		encrypted8: block("ENCRYPTED PRIVATE KEY", []byte("hunter2"), nil),
		der:        string(der),
	}
})

func certificates(t testing.TB) pki {
	t.Helper()
	return makeCertificates()
}

// companions are what a setting needs beside it to be valid and to have an effect, all
// of it without a warning.
func companions(t testing.TB, variable string) []string {
	t.Helper()
	const region, keyID, key = "AWS_REGION=eu-west-1", "AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=key"
	endpoint := []string{"KAFKA_TLS_ENABLED=true", "KAFKA_SASL_MECHANISM=OAUTHBEARER", "KAFKA_SASL_OAUTH_TOKEN_ENDPOINT=https://host/token",
		"KAFKA_SASL_OAUTH_CLIENT_ID=id", "KAFKA_SASL_OAUTH_CLIENT_SECRET=secret"}
	aws := []string{"KAFKA_SASL_MECHANISM=AWS_MSK_IAM", region, keyID, key}
	scram := []string{"KAFKA_SASL_MECHANISM=SCRAM-SHA-256", "KAFKA_SASL_USERNAME=me", "KAFKA_SASL_PASSWORD=secret"}
	var more []string
	switch variable {
	case securityProtocol:
		more = append(scram, "KAFKA_TLS_ENABLED=true")
	case tlsCert, tlsKey:
		more = []string{tlsCert + "=" + certificates(t).cert, tlsKey + "=" + certificates(t).key}
	case httpTLSCert, httpTLSKey:
		more = []string{httpTLSCert + "=" + certificates(t).cert, httpTLSKey + "=" + certificates(t).key}
	case adminToken:
		more = []string{adminAddr + "=127.0.0.1:9847"}
	case saslMechanism, saslUsername, saslPassword:
		more = append(scram, "KAFKA_TLS_ENABLED=true")
	case oauthToken:
		more = append(endpoint[:2], oauthToken+"=token")
	case saslAWSRegion:
		more = aws
	default:
		switch {
		case isLogin(variable):
			more = endpoint
		case len(variable) > 4 && variable[:4] == "AWS_":
			more = aws
		}
	}
	return minimal(more...)
}

// alone is an environment in which a setting has a value and nothing else matters.
func alone(t testing.TB, variable, value string) []string {
	t.Helper()
	return append(companions(t, variable), variable+"="+value)
}

// exampleOf is a setting's example as it could be set: those of PEM are cut.
func exampleOf(t testing.TB, s setting) string {
	t.Helper()
	switch s.kind {
	case "certificates":
		return certificates(t).cert
	case "key":
		return certificates(t).key
	}
	return s.Example
}

// literal is a configuration whose secrets are values for good: files are another way
// to the same.
func literal(c *Config) *Config {
	for _, s := range settingsOf(c) {
		if secret, ok := s.field.Addr().Interface().(*Secret); ok {
			secret.get().path = ""
		}
	}
	return c
}

// fieldOf is the value of a setting; of a secret, its text.
func fieldOf(c *Config, variable string) any {
	for _, s := range settingsOf(c) {
		if s.Variable != variable {
			continue
		}
		if secret, ok := s.field.Interface().(Secret); ok {
			return secret.text()
		}
		return s.field.Interface()
	}
	return nil
}
