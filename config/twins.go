package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// fileSuffix makes the name of a setting's twin: LAYOVER_GROUP_ID_FILE names the
// file that has the value of LAYOVER_GROUP_ID. Every setting has one, so that
// nobody has to know which do.
const fileSuffix = "_FILE"

// secretsDir is where examples have files: where container engines mount secrets.
const secretsDir = "/run/secrets/"

// maxFileBytes bounds a value that comes from a file, in bytes. The longest
// sensible one is a list of some thousand topics.
const maxFileBytes = 1 << 20

// byteOrderMark is the invisible character that some editors write in front of UTF-8.
const byteOrderMark = "\ufeff"

// textOf returns the value of s, from its variable or its file. White space around it
// is no part of it, as a file commonly ends in a newline. Nor is a byte order mark at
// the beginning of a file. Empty is unset, and so are a list without an entry and an
// empty file, but not that of a secret. ok is false where a value was meant and cannot
// be had; the problem is reported by then.
func (r *reader) textOf(s *setting) (text string, ok bool) {
	text = s.trim(r.env[s.Variable])
	path := strings.TrimSpace(r.env[s.Variable+fileSuffix])
	switch {
	case path == "" && text == "":
		return r.bound(s)
	case path == "":
		return text, true
	case text != "":
		r.refuse(s.Variable, fmt.Sprintf("is set, and so is %s%s: only one of the two can be meant, unset the other", s.Variable, fileSuffix))
		return "", false
	}
	content, err := r.host.readFile(path)
	if err != nil {
		r.problems = append(r.problems, Problem{
			Variable: s.Variable + fileSuffix,
			Reason:   s.noFile(path, err),
			Example:  s.Variable + fileSuffix + "=" + secretsDir + strings.ToLower(s.Variable),
		})
		return "", false
	}
	r.files[s.Variable] = path
	return r.textIn(s, content)
}

// noFile is why a file cannot be read. A value in place of a path is not repeated.
func (s *setting) noFile(path string, err error) string {
	_, notPEM := toPEM(path)
	if notPEM == nil || s.Secret && !looksLikePath(path) {
		return fmt.Sprintf("the file %v; want a path, which is not printed here: it may be the value, which belongs into %s", err, s.Variable)
	}
	return fmt.Sprintf("the file %s %v", quote(path), err)
}

// textIn returns the value in a file that was read. An empty file is no secret and no
// certificate: to take it for unset could be to connect in plaintext.
func (r *reader) textIn(s *setting, content []byte) (text string, ok bool) {
	text = s.trim(strings.TrimPrefix(string(content), byteOrderMark))
	_, isSecret := s.field.Addr().Interface().(*Secret)
	if text == "" && (isSecret || isSecurity(s.Variable)) {
		r.refuse(s.Variable, fmt.Sprintf("the file %s of %s is empty", quote(r.files[s.Variable]), r.fileSource(s.Variable)))
		return "", false
	}
	return text, true
}

// trim returns a value as it is decoded, where empty means unset.
func (s *setting) trim(text string) string {
	if s.kind == "password" {
		return trimSecret(text, s.kind)
	}
	text = strings.TrimSpace(text)
	if s.isList() && len(splitList(text)) == 0 {
		return ""
	}
	return text
}

// readFile returns a file's content. It need not be a regular one: a shell's
// <(command) is a pipe. The error continues a sentence that began with the path.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, cannotRead(err)
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	switch {
	case err != nil:
		return nil, cannotRead(err)
	case len(content) > maxFileBytes:
		return nil, fmt.Errorf("is larger than %d bytes: no value is that large", maxFileBytes)
	}
	return content, nil
}

// againFrom returns the path of a file to read again. It is "" where that would be too
// late: a pipe is empty then, or waits for its writer.
func againFrom(path string) string {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return ""
	}
	return path
}

// cannotRead leaves out the path, which may have a line break in it.
func cannotRead(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		err = at.Err
	}
	return fmt.Errorf("cannot be read: %w", err)
}
