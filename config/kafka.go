package config

import (
	"cmp"
	"regexp"
	"strings"
)

// Kafka is the settings of connections to brokers. They have the prefix KAFKA_, and
// AWS_ where AWS's own tools have a name for the same. All verbs connect by them.
type Kafka struct {
	// Brokers are the seed brokers, host:port, at least one in a valid [Config].
	Brokers []string `split_words:"true" required:"true" kind:"brokers" example:"kafka:9092" desc:"brokers to connect to first"`
	// ClientID is the brokers' name for our connections.
	ClientID string `split_words:"true" default:"layover" kind:"client" example:"layover" desc:"name of Layover's connections in the brokers' logs, metrics and quotas"`
	// Rack is KIP-392's client.rack; empty fetches from leaders.
	Rack string `kind:"text" derived:"none: fetch from leaders" example:"eu-west-1a" desc:"rack or availability zone: ingress topics are read from the nearest replica in it"`
	// SecurityProtocol is Java's security.protocol. It agrees with TLS and SASL.
	SecurityProtocol SecurityProtocol `split_words:"true" choices:"PLAINTEXT,SSL,SASL_PLAINTEXT,SASL_SSL" derived:"what KAFKA_TLS_* and KAFKA_SASL_* say" example:"SASL_SSL" desc:"Java's name for TLS and a login; the other settings have to agree with it"`
	TLS              TLS
	SASL             SASL
	AWS              AWS `ignored:"true"` // its prefix is AWS_

	tlsGiven bool // some KAFKA_TLS_* is set, besides KAFKA_TLS_ENABLED
}

// TLS is the settings of encryption and of certificates.
type TLS struct {
	// Enabled asks for TLS; [Kafka.TLSOn] is the answer.
	Enabled Toggle `choices:"auto,true,false" default:"auto" example:"true" desc:"encrypt connections; auto does where a KAFKA_TLS_* value is set, KAFKA_SECURITY_PROTOCOL ends in SSL, or the mechanism is AWS_MSK_IAM"`
	// CA is one certificate or more, in PEM; unset: the system's.
	CA Secret `kind:"certificates" derived:"the system's" example:"-----BEGIN CERTIFICATE-----..." desc:"certificates of authorities that a broker's certificate has to be signed by; KAFKA_TLS_CA_FILE names their file"`
	// Cert is the client's certificate and its chain, in PEM. It is set where Key is.
	Cert Secret `kind:"certificates" derived:"none" example:"-----BEGIN CERTIFICATE-----..." desc:"client certificate with its chain, for mutual TLS; KAFKA_TLS_CERT_FILE names its file"`
	Key  Secret `kind:"key" secret:"true" derived:"none" example:"-----BEGIN PRIVATE KEY-----..." desc:"private key of the client certificate, not encrypted; KAFKA_TLS_KEY_FILE names its file"`
	// ServerName stands in for the host of each broker.
	ServerName         string `split_words:"true" kind:"host" derived:"the host of each broker" example:"kafka.example.com" desc:"host name that a broker's certificate has to have"`
	InsecureSkipVerify bool   `split_words:"true" choices:"true,false" default:"false" example:"false" desc:"take any certificate of any broker: whoever is in between can read and change everything; for experiments"`
}

// SASL is the settings of the login.
type SASL struct {
	// Mechanism is empty without a login.
	Mechanism Mechanism `choices:"PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER,AWS_MSK_IAM" derived:"none: no login" example:"SCRAM-SHA-512" desc:"mechanism of the login"`
	Username  Secret    `kind:"text" derived:"none" example:"layover" desc:"user of PLAIN and SCRAM"`
	Password  Secret    `kind:"password" secret:"true" derived:"none" example:"..." desc:"password of PLAIN and SCRAM"`
	// AllowPlaintext allows a login that can be read on its way.
	AllowPlaintext bool `split_words:"true" choices:"true,false" default:"false" example:"false" desc:"log in by PLAIN, OAUTHBEARER or AWS_MSK_IAM without TLS, where brokers are not on this host: everybody in between can read the login"`
	OAuth          OAuth
	// AWSRegion is before the SDK's AWS_REGION and AWS_DEFAULT_REGION.
	AWSRegion string `split_words:"true" kind:"region" derived:"AWS_REGION, else AWS_DEFAULT_REGION" example:"eu-west-1" desc:"AWS region of brokers that have none in their names, for AWS_MSK_IAM"`
}

// OAuth is the settings of OAUTHBEARER: a token, or where to get one.
type OAuth struct {
	TokenEndpoint string   `split_words:"true" kind:"url" derived:"none" example:"https://login.example.com/oauth2/token" desc:"where OAUTHBEARER gets tokens, by client credentials; https unless it is on this host"`
	ClientID      Secret   `split_words:"true" kind:"text" derived:"none" example:"layover" desc:"client at the token endpoint"`
	ClientSecret  Secret   `split_words:"true" kind:"password" secret:"true" derived:"none" example:"..." desc:"secret of the client at the token endpoint"`
	Scopes        []string `kind:"words" derived:"none" example:"kafka" desc:"scopes to ask the token endpoint for"`
	Audience      string   `kind:"text" derived:"none" example:"kafka" desc:"audience to ask the token endpoint for"`
	// Extensions are name=value, as RFC 7628 has them: names are letters.
	Extensions []string `kind:"extensions" derived:"none" example:"logicalCluster=lkc-1,identityPoolId=pool-1" desc:"SASL extensions that go to the brokers with each token"`
	// Token is used in place of an endpoint.
	Token Secret `kind:"token" secret:"true" derived:"none" example:"..." desc:"a token in place of a token endpoint: KAFKA_SASL_OAUTH_TOKEN_FILE names a file that something else keeps fresh, such as a projected service account token"`
	// CA is for the token endpoint alone; unset: the system's.
	CA Secret `kind:"certificates" derived:"the system's" example:"-----BEGIN CERTIFICATE-----..." desc:"certificates of authorities that the token endpoint's certificate has to be signed by; KAFKA_SASL_OAUTH_CA_FILE names their file"`
}

// AWS is the credentials for AWS_MSK_IAM by the names of AWS's SDKs. Of several kinds
// the first in this order is used: an access key, a web identity, a container's.
type AWS struct {
	Region             string `kind:"region" derived:"AWS_DEFAULT_REGION" example:"eu-west-1" desc:"AWS region, for AWS_MSK_IAM"`
	DefaultRegion      string `split_words:"true" kind:"region" derived:"none" example:"eu-west-1" desc:"AWS region where AWS_REGION is not set"`
	AccessKeyID        Secret `split_words:"true" kind:"text" derived:"none" example:"AKIA..." desc:"access key, for AWS_MSK_IAM"`
	SecretAccessKey    Secret `split_words:"true" kind:"token" secret:"true" derived:"none" example:"..." desc:"secret of the access key"`
	SessionToken       Secret `split_words:"true" kind:"token" secret:"true" derived:"none" example:"..." desc:"session token of a temporary access key"`
	RoleARN            string `split_words:"true" kind:"text" derived:"none" example:"arn:aws:iam::123456789012:role/layover" desc:"role that a web identity assumes (EKS: IAM roles for service accounts)"`
	RoleSessionName    string `split_words:"true" kind:"text" derived:"layover" example:"layover" desc:"name of the role's session in AWS's logs"`
	WebIdentityToken   Secret `split_words:"true" kind:"token" secret:"true" derived:"none" example:"..." desc:"token of the web identity; AWS_WEB_IDENTITY_TOKEN_FILE names its file"`
	EndpointURLSTS     string `envconfig:"ENDPOINT_URL_STS" kind:"url" derived:"AWS's own in the region" example:"https://sts.eu-west-1.amazonaws.com" desc:"where roles are assumed"`
	ContainerURI       string `envconfig:"CONTAINER_CREDENTIALS_FULL_URI" kind:"container" derived:"none" example:"http://169.254.170.23/v1/credentials" desc:"where a container gets its credentials (EKS Pod Identity, ECS)"`
	ContainerPath      string `envconfig:"CONTAINER_CREDENTIALS_RELATIVE_URI" kind:"text" derived:"none" example:"/v2/credentials/id" desc:"the same for ECS, a path at 169.254.170.2"`
	ContainerAuthToken Secret `envconfig:"CONTAINER_AUTHORIZATION_TOKEN" kind:"token" secret:"true" derived:"none" example:"..." desc:"token for the container's credentials"`
	// EC2MetadataDisabled is true unless it is asked for: whoever reaches the instance's
	// metadata has the rights of the whole node.
	EC2MetadataDisabled bool   `envconfig:"EC2_METADATA_DISABLED" choices:"true,false" default:"true" example:"false" desc:"false allows the credentials of the EC2 instance where there are no others"`
	EC2MetadataEndpoint string `envconfig:"EC2_METADATA_SERVICE_ENDPOINT" kind:"link" derived:"AWS's own" example:"http://169.254.169.254" desc:"where the EC2 instance's metadata is"`
}

// TLSOn reports whether connections are encrypted.
func (k *Kafka) TLSOn() bool {
	switch k.TLS.Enabled {
	case ToggleTrue:
		return true
	case ToggleFalse:
		return false
	default:
		return k.tlsGiven || k.SecurityProtocol.tls() || k.SASL.Mechanism == MechanismAWS
	}
}

// Region returns the AWS region to sign for where a broker's name has none; may be
// empty.
func (k *Kafka) Region() string {
	return cmp.Or(k.SASL.AWSRegion, k.AWS.Region, k.AWS.DefaultRegion)
}

// RegionFor returns the AWS region to sign for at a broker, a host or host:port. It is
// not empty for the brokers of a valid [Config] with AWS_MSK_IAM.
func (k *Kafka) RegionFor(broker string) string {
	return cmp.Or(regionOf(broker), k.Region())
}

var regionHost = regexp.MustCompile(`\.kafka(?:-serverless)?\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?(?::[0-9]+)?$`)

// regionOf returns the region in the name of an MSK broker; empty of others.
func regionOf(broker string) string {
	if m := regionHost.FindStringSubmatch(strings.ToLower(broker)); m != nil {
		return m[1]
	}
	return ""
}

// protocolOf is Java's name for connections with TLS or a login.
func protocolOf(tls, sasl bool) SecurityProtocol {
	switch {
	case tls && sasl:
		return ProtocolSASLSSL
	case tls:
		return ProtocolSSL
	case sasl:
		return ProtocolSASLPlaintext
	default:
		return ProtocolPlaintext
	}
}

// tls reports whether the protocol is one over TLS.
func (p SecurityProtocol) tls() bool { return p == ProtocolSSL || p == ProtocolSASLSSL }

// sasl reports whether the protocol is one with a login.
func (p SecurityProtocol) sasl() bool { return p == ProtocolSASLPlaintext || p == ProtocolSASLSSL }

// scram reports whether the login of the mechanism cannot be read on its way.
func (m Mechanism) scram() bool { return m == MechanismScramSHA256 || m == MechanismScramSHA512 }
