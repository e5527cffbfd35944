package config

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
)

// The variables that the rules between settings name. A test holds that each
// is in Known.
const (
	kafkaBrokers   = "KAFKA_BROKERS"
	ingressTopics  = "LAYOVER_INGRESS_TOPICS"
	egressTopic    = "LAYOVER_EGRESS_TOPIC"
	targetsAllowed = "LAYOVER_TARGETS_ALLOWED"
	topicTargets   = "LAYOVER_TOPIC_TARGETS"
	dlqTopic       = "LAYOVER_DLQ_TOPIC"
	onInvalid      = "LAYOVER_ON_INVALID"
	onExpired      = "LAYOVER_ON_EXPIRED"
	eventsTopic    = "LAYOVER_EVENTS_TOPIC"
	groupID        = "LAYOVER_GROUP_ID"
	defaultDelay   = "LAYOVER_DEFAULT_DELAY"
	topicDelays    = "LAYOVER_TOPIC_DELAYS"
	maxDelay       = "LAYOVER_MAX_DELAY"
	expireAfter    = "LAYOVER_EXPIRE_AFTER"
	journalTopic   = "LAYOVER_JOURNAL_TOPIC"
	startOffset    = "LAYOVER_START_OFFSET"
	httpAddr       = "LAYOVER_HTTP_ADDR"
	httpTLSCert    = "LAYOVER_HTTP_TLS_CERT"
	httpTLSKey     = "LAYOVER_HTTP_TLS_KEY"
	adminAddr      = "LAYOVER_ADMIN_ADDR"
	adminToken     = "LAYOVER_ADMIN_TOKEN"

	kafkaClientID       = "KAFKA_CLIENT_ID"
	kafkaRack           = "KAFKA_RACK"
	securityProtocol    = "KAFKA_SECURITY_PROTOCOL"
	tlsEnabled          = "KAFKA_TLS_ENABLED"
	tlsCA               = "KAFKA_TLS_CA"
	tlsCert             = "KAFKA_TLS_CERT"
	tlsKey              = "KAFKA_TLS_KEY"
	tlsServerName       = "KAFKA_TLS_SERVER_NAME"
	tlsSkipVerify       = "KAFKA_TLS_INSECURE_SKIP_VERIFY"
	saslMechanism       = "KAFKA_SASL_MECHANISM"
	saslUsername        = "KAFKA_SASL_USERNAME"
	saslPassword        = "KAFKA_SASL_PASSWORD"
	saslAllowPlaintext  = "KAFKA_SASL_ALLOW_PLAINTEXT"
	saslAWSRegion       = "KAFKA_SASL_AWS_REGION"
	oauthTokenEndpoint  = "KAFKA_SASL_OAUTH_TOKEN_ENDPOINT"
	oauthClientID       = "KAFKA_SASL_OAUTH_CLIENT_ID"
	oauthClientSecret   = "KAFKA_SASL_OAUTH_CLIENT_SECRET"
	oauthScopes         = "KAFKA_SASL_OAUTH_SCOPES"
	oauthExtensions     = "KAFKA_SASL_OAUTH_EXTENSIONS"
	oauthToken          = "KAFKA_SASL_OAUTH_TOKEN"
	oauthCA             = "KAFKA_SASL_OAUTH_CA"
	awsRegion           = "AWS_REGION"
	awsDefaultRegion    = "AWS_DEFAULT_REGION"
	awsAccessKeyID      = "AWS_ACCESS_KEY_ID"
	awsSecretAccessKey  = "AWS_SECRET_ACCESS_KEY"
	awsRoleARN          = "AWS_ROLE_ARN"
	awsWebIdentityToken = "AWS_WEB_IDENTITY_TOKEN"
	awsContainerURI     = "AWS_CONTAINER_CREDENTIALS_FULL_URI"
	awsContainerPath    = "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"
	awsMetadataDisabled = "AWS_EC2_METADATA_DISABLED"
)

// reader turns one environment into one Config. It lives for one Load, in one
// goroutine.
type reader struct {
	env      map[string]string
	host     machine
	cfg      *Config
	settings []setting         // their fields lie in cfg
	text     map[string]string // the content of a variable or its file, trimmed
	given    map[string]bool   // set to something that is not empty, valid or not
	// bad: given and not decoded. The field is zero, or a list of the entries that
	// were understood.
	bad         map[string]bool
	files       map[string]string // the files that were read, by the variable
	problems    []Problem
	warnings    []string
	bindingDir  string          // of the service binding of type kafka; "" without one
	fromBinding map[string]bool // the settings that it filled
}

func newReader(environ []string, host machine) *reader {
	cfg := new(Config)
	return &reader{
		env:         parseEnviron(environ),
		host:        host,
		cfg:         cfg,
		settings:    settingsOf(cfg),
		text:        make(map[string]string),
		given:       make(map[string]bool),
		bad:         make(map[string]bool),
		files:       make(map[string]string),
		fromBinding: make(map[string]bool),
	}
}

// parseEnviron splits the name=value pairs. Of a name that is there twice the
// last wins, as in os/exec. Windows keeps its drives' folders under names that
// begin with "=", and there names do not know case.
func parseEnviron(environ []string) map[string]string {
	env := make(map[string]string, len(environ))
	for _, pair := range environ {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			continue
		}
		if runtime.GOOS == "windows" {
			name = strings.ToUpper(name)
		}
		env[name] = value
	}
	return env
}

// read decodes the value of s into its field, or its literal default where the
// value is empty. A secret's reason leaves out the error of its check, which may
// hold a part of the secret.
func (r *reader) read(s *setting) {
	text, ok := r.textOf(s)
	if !ok {
		r.given[s.Variable], r.bad[s.Variable] = true, true
		return
	}
	r.text[s.Variable] = text
	if text == "" {
		text = s.literal
	} else {
		r.given[s.Variable] = true
	}
	if text == "" {
		return
	}
	err := s.decode(text)
	if err == nil {
		if secret, ok := s.field.Addr().Interface().(*Secret); ok {
			secret.get().path = againFrom(r.files[s.Variable])
		}
		return
	}
	list, isList := errors.AsType[*listError](err)
	r.bad[s.Variable] = !isList || list.partial
	reason := err.Error()
	if s.Secret {
		reason = "has a value that is not valid, want " + s.Values
	}
	r.refuse(s.Variable, reason+r.from(s.Variable))
}

// refuse adds a problem of a known variable with the example of its row.
func (r *reader) refuse(variable, reason string) {
	r.problems = append(r.problems, Problem{Variable: variable, Reason: reason, Example: r.exampleOf(variable)})
}

// exampleOf is a valid assignment of a known variable; empty of another. Secrets and
// certificates are better off in files.
func (r *reader) exampleOf(variable string) string {
	for _, s := range r.settings {
		switch {
		case s.Variable != variable:
		case s.Secret || s.kind == "certificates":
			return variable + fileSuffix + "=" + secretsDir + strings.ToLower(variable)
		default:
			return variable + "=" + s.Example
		}
	}
	return ""
}

// example replaces the example of the problem added last, where the one of the
// row would not solve it.
func (r *reader) example(variable, value string) {
	r.problems[len(r.problems)-1].Example = variable + "=" + value
}

// warn adds a line about a setting that is valid.
func (r *reader) warn(format string, args ...any) {
	r.warnings = append(r.warnings, fmt.Sprintf(format, args...))
}

// err returns nil or all problems, those of known variables first and in the
// order of the table, so that the same mistakes always read the same.
func (r *reader) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	rank := make(map[string]int, len(r.settings))
	for i, s := range r.settings {
		below := i - len(r.settings) // below 0, the rank of others
		rank[s.Variable], rank[s.Variable+fileSuffix] = below, below
	}
	slices.SortStableFunc(r.problems, func(a, b Problem) int {
		return rank[a.Variable] - rank[b.Variable]
	})
	return &Errors{Problems: r.problems}
}
