package config

import (
	"errors"
	"runtime"
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
	backoff        = "LAYOVER_BACKOFF"
	maxHops        = "LAYOVER_MAX_HOPS"
	expireAfter    = "LAYOVER_EXPIRE_AFTER"
	headerPresets  = "LAYOVER_HEADERS"
	headerMap      = "LAYOVER_HEADER_MAP"
	journal        = "LAYOVER_JOURNAL"
	journalTopic   = "LAYOVER_JOURNAL_TOPIC"
	runs           = "LAYOVER_RUNS"
	runsTopic      = "LAYOVER_RUNS_TOPIC"
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
	host     machine
	cfg      *Config
	*sources // their settings' fields lie in cfg
	*report
}

func newReader(environ []string, host machine) *reader {
	cfg := new(Config)
	settings := settingsOf(cfg)
	return &reader{
		host:    host,
		cfg:     cfg,
		sources: newSources(parseEnviron(environ), settings),
		report:  &report{table: settings},
	}
}

// rules returns the rules between the settings that were read.
func (r *reader) rules() *rules {
	return &rules{host: r.host, cfg: r.cfg, sources: r.sources, report: r.report}
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
