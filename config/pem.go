package config

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Certificates is the content of the TLS settings, as it was read at one moment.
type Certificates struct {
	CAs    []*x509.Certificate // empty: the system's
	Client *tls.Certificate    // with its Leaf; nil without mutual TLS
}

// Pool returns the CAs as a pool; nil stands for the system's.
func (c *Certificates) Pool() *x509.CertPool {
	if len(c.CAs) == 0 {
		return nil
	}
	pool := x509.NewCertPool()
	for _, ca := range c.CAs {
		pool.AddCert(ca)
	}
	return pool
}

// LastCA returns the CA that ends last: until then some are valid. It is nil for the
// system's.
func (c *Certificates) LastCA() *x509.Certificate {
	if len(c.CAs) == 0 {
		return nil
	}
	return slices.MaxFunc(c.CAs, func(a, b *x509.Certificate) int { return a.NotAfter.Compare(b.NotAfter) })
}

// Load reads the certificates and the key, also from their files, and checks them. All
// have to be PEM, perhaps in base64, and the key has to fit and not be encrypted. The client certificate
// and at least one CA must not have expired at now. Every problem names its variable,
// and nothing of a key.
func (t *TLS) Load(now time.Time) (*Certificates, []Problem) {
	return t.load(now, Secret.Read)
}

func (t *TLS) load(now time.Time, read readSecret) (*Certificates, []Problem) {
	cas, err := authorities(t.CA, tlsCA, now, read)
	client, problems := t.pair().loadBy(now, read)
	if err != nil {
		problems = append([]Problem{{Variable: tlsCA, Reason: err.Error()}}, problems...)
	}
	return &Certificates{CAs: cas, Client: client}, problems
}

func (t *TLS) pair() keyPair { return keyPair{t.Cert, t.Key, tlsCert, tlsKey} }

// readSecret is Secret.Read, or Secret.asRead where the file was read a moment ago.
type readSecret func(Secret) (string, error)

// keyPair is a certificate and its key, with the variables that they are from.
type keyPair struct {
	cert, key         Secret
	certName, keyName string
}

// load reads a certificate with its Leaf; nil where either of the two is unset or wrong.
func (k keyPair) load(now time.Time) (*tls.Certificate, []Problem) {
	return k.loadBy(now, Secret.Read)
}

func (k keyPair) loadBy(now time.Time, read readSecret) (*tls.Certificate, []Problem) {
	var problems []Problem
	chain, leaf, err := k.loadCert(now, read)
	if err != nil {
		problems = append(problems, Problem{Variable: k.certName, Reason: err.Error()})
	}
	key, err := k.loadKey(read)
	if err != nil {
		problems = append(problems, Problem{Variable: k.keyName, Reason: err.Error()})
	}
	if len(problems) > 0 || leaf == nil || key == nil {
		return nil, problems
	}
	pair, err := tls.X509KeyPair(chain, key)
	if err != nil {
		reason := fmt.Sprintf("does not fit the certificate in %s: %s", k.certName, strings.TrimPrefix(err.Error(), "tls: "))
		return nil, []Problem{{Variable: k.keyName, Reason: reason}}
	}
	pair.Leaf = leaf
	return &pair, nil
}

// loadCert returns a chain and the first certificate in it, both nil of an unset one.
func (k keyPair) loadCert(now time.Time, read readSecret) (chain []byte, leaf *x509.Certificate, err error) {
	chain, err = k.cert.pem(k.certName, read)
	if err != nil || chain == nil {
		return nil, nil, err
	}
	all, err := parseCertificates(chain)
	if err != nil {
		return nil, nil, err
	}
	if now.After(all[0].NotAfter) {
		return nil, nil, fmt.Errorf("has expired on %s", day(all[0].NotAfter))
	}
	return chain, all[0], nil
}

// loadKey returns a private key in PEM; nil of an unset one.
func (k keyPair) loadKey(read readSecret) ([]byte, error) {
	key, err := k.key.pem(k.keyName, read)
	if err != nil || key == nil {
		return nil, err
	}
	return key, checkKey(key)
}

// Authorities returns the certificates in CA as of now; none is the system's.
func (o *OAuth) Authorities(now time.Time) ([]*x509.Certificate, error) {
	return authorities(o.CA, oauthCA, now, Secret.Read)
}

// authorities reads a bundle, of which one certificate at least has not expired; nil of
// an unset one.
func authorities(s Secret, variable string, now time.Time, read readSecret) ([]*x509.Certificate, error) {
	text, err := s.pem(variable, read)
	if err != nil || text == nil {
		return nil, err
	}
	all, err := parseCertificates(text)
	if err != nil {
		return nil, err
	}
	bundle := Certificates{CAs: all}
	last := bundle.LastCA().NotAfter
	if now.After(last) {
		return nil, fmt.Errorf("has only certificates that have expired, the last on %s", day(last))
	}
	return all, nil
}

func day(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

// pem returns the value as PEM; nil of an unset one. An error continues a sentence
// that began with the variable.
func (s Secret) pem(variable string, read readSecret) ([]byte, error) {
	if !s.IsSet() {
		return nil, nil
	}
	text, err := read(s)
	if err != nil {
		return nil, err
	}
	asPEM, err := toPEM(text)
	switch {
	case !errors.Is(err, errNoPEM) || s.Path() != "":
	case looksLikePath(text):
		err = fmt.Errorf("is a path, want PEM: set %s%s to the path", variable, fileSuffix)
	default:
		err = fmt.Errorf("%w; a path belongs into %s%s", err, variable, fileSuffix)
	}
	return asPEM, err
}

const pemBegin = "-----BEGIN "

// errNoPEM is of a value that is like nothing that is known.
var errNoPEM = errors.New("is neither PEM nor base64 of PEM")

// toPEM returns text as PEM: as it is, with its line breaks where it has \n for them, or
// decoded from base64.
func toPEM(text string) ([]byte, error) {
	if strings.Contains(text, pemBegin) {
		if !strings.Contains(text, "\n") {
			text = strings.NewReplacer(`\r`, "", `\n`, "\n").Replace(text)
		}
		return []byte(text), nil
	}
	if kind := binaryKind(text); kind != "" {
		return nil, fmt.Errorf("is %s, want PEM", kind)
	}
	decoded, ok := decodeBase64(text)
	switch {
	case ok && bytes.Contains(decoded, []byte(pemBegin)):
		return decoded, nil
	case ok && binaryKind(string(decoded)) != "":
		return nil, fmt.Errorf("is base64 of %s, want PEM, with its lines BEGIN and END", binaryKind(string(decoded)))
	}
	return nil, errNoPEM
}

// binaryKind names the format that a value begins like; empty of none. keytool and
// openssl make PEM of each.
func binaryKind(text string) string {
	switch {
	case strings.HasPrefix(text, "\xfe\xed\xfe\xed"), strings.HasPrefix(text, "\xce\xce\xce\xce"):
		return "a Java key store"
	case strings.HasPrefix(text, "\x30\x82"), strings.HasPrefix(text, "\x30\x81"), strings.HasPrefix(text, "\x30\x83"):
		return "DER or PKCS #12"
	default:
		return ""
	}
}

// decodeBase64 decodes either alphabet, with white space in it, and padding or none.
func decodeBase64(text string) ([]byte, bool) {
	text = strings.NewReplacer("-", "+", "_", "/").Replace(strings.Join(strings.Fields(text), ""))
	decoded, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
	return decoded, err == nil
}

// looksLikePath reports whether a value without PEM was meant as a path.
func looksLikePath(text string) bool {
	if strings.ContainsAny(text, "\n\r") || len(text) > maxText {
		return false
	}
	begins := func(prefix string) bool { return strings.HasPrefix(text, prefix) }
	ends := func(suffix string) bool { return strings.HasSuffix(strings.ToLower(text), suffix) }
	return slices.ContainsFunc([]string{"/", "./", "../", "~", `\`, `C:\`, `C:/`}, begins) ||
		slices.ContainsFunc([]string{".pem", ".crt", ".cer", ".key", ".jks", ".p12", ".pfx"}, ends)
}

// pemBlocks returns the blocks in text. Text between them does not matter, as bundles
// have comments. A damaged block is an error: the decoder passes over it.
func pemBlocks(text []byte) ([]*pem.Block, error) {
	var all []*pem.Block
	want := 0
	for line := range bytes.Lines(text) {
		if !bytes.HasPrefix(bytes.TrimSpace(line), []byte("#")) { // else a block that somebody commented out
			want += bytes.Count(line, []byte(pemBegin))
		}
	}
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		all = append(all, block)
	}
	switch {
	case len(all) == want:
		return all, nil
	case !bytes.Contains(text, []byte("\n")):
		return nil, errors.New("has no line breaks, want PEM with its lines, or with \\n between them")
	}
	return nil, fmt.Errorf("has %d PEM blocks, of which %d are damaged or cut short", want, want-len(all))
}

// parseCertificates returns the certificates in PEM, at least one. Blocks of other types
// do not matter.
func parseCertificates(text []byte) ([]*x509.Certificate, error) {
	blocks, err := pemBlocks(text)
	if err != nil {
		return nil, err
	}
	var all []*x509.Certificate
	for _, block := range blocks {
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("has a certificate, number %d, that cannot be parsed: %s", len(all)+1, quote(err.Error()))
		}
		all = append(all, c)
	}
	switch {
	case len(all) > 0:
		return all, nil
	case slices.ContainsFunc(blocks, isKey):
		return nil, errors.New("has a private key and no certificate: is it in the variable of the other?")
	}
	return nil, errors.New("has no certificate")
}

// isKey reports whether a block is a private key.
func isKey(block *pem.Block) bool { return strings.HasSuffix(block.Type, "PRIVATE KEY") }

// checkKey refuses PEM without a private key, or with one that is encrypted.
func checkKey(text []byte) error {
	blocks, err := pemBlocks(text)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(blocks, isKey)
	switch {
	case at < 0 && slices.ContainsFunc(blocks, func(b *pem.Block) bool { return b.Type == "CERTIFICATE" }):
		return errors.New("has a certificate and no private key: is it in the variable of the other?")
	case at < 0:
		return errors.New("has no private key")
	case blocks[at].Type == "ENCRYPTED PRIVATE KEY", strings.Contains(blocks[at].Headers["Proc-Type"], "ENCRYPTED"):
		return errors.New("is encrypted, want it without a passphrase: openssl pkey -in FILE -out FILE")
	}
	return nil
}
