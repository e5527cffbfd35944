package cluster

import (
	"errors"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
)

// denied is an error of authorization with the ACL that mends it.
type denied struct {
	error
	acl string
}

// Error names the ACL.
func (d *denied) Error() string { return fmt.Sprintf("%v; allow %s", d.error, d.acl) }

// Unwrap returns the broker's error.
func (d *denied) Unwrap() error { return d.error }

// Denied reports whether an ACL is missing.
func Denied(err error) bool {
	denials := []error{kerr.TopicAuthorizationFailed, kerr.GroupAuthorizationFailed, kerr.ClusterAuthorizationFailed}
	return slices.ContainsFunc(denials, func(denial error) bool { return errors.Is(err, denial) })
}

// Allow adds the ACL that mends it to an error of authorization, such as "Read on topic
// orders". It returns any other error as it is, and one that names an ACL.
func Allow(err error, acl string) error {
	if !Denied(err) {
		return err
	}
	if _, named := errors.AsType[*denied](err); named {
		return err
	}
	return &denied{err, acl}
}
