package config

import (
	"fmt"
	"slices"
	"strings"
)

// needs are the variables that a mechanism cannot do without.
var needs = map[Mechanism][]string{
	MechanismPlain:       {saslUsername, saslPassword},
	MechanismScramSHA256: {saslUsername, saslPassword},
	MechanismScramSHA512: {saslUsername, saslPassword},
}

// relateSASL refuses a mechanism without its credentials, and credentials without a
// mechanism.
func (r *reader) relateSASL(k *Kafka) {
	m := k.SASL.Mechanism
	switch {
	case r.bad[saslMechanism]:
		return
	case m == "":
		r.relateNoLogin(k)
		return
	}
	for _, variable := range needs[m] {
		r.need(variable, fmt.Sprintf("%s is %s", r.asSet(saslMechanism), m))
	}
	switch m {
	case MechanismOAuth:
		r.relateOAuth()
	case MechanismAWS:
		r.relateAWS(k)
		r.relateRegion(k)
	}
	if unused := r.givenOf(func(variable string) bool { return isLogin(variable) && !isOf(variable, m) }); len(unused) > 0 {
		r.warn("without effect with %s=%s: %s", saslMechanism, m, strings.Join(unused, ", "))
	}
}

// need refuses a setting that is not set. An empty file has its problem already.
func (r *reader) need(variable, reason string) {
	if !r.given[variable] {
		r.refuse(variable, "is missing: "+reason)
	}
}

// isLogin reports whether a setting is one of the credentials of some mechanism.
func isLogin(variable string) bool {
	return strings.HasPrefix(variable, "KAFKA_SASL_") && variable != saslMechanism && variable != saslAllowPlaintext
}

// isOf reports whether a setting of a login is one of the mechanism's.
func isOf(variable string, m Mechanism) bool {
	switch {
	case strings.HasPrefix(variable, "KAFKA_SASL_OAUTH_"):
		return m == MechanismOAuth
	case variable == saslAWSRegion:
		return m == MechanismAWS
	default:
		return slices.Contains(needs[m], variable)
	}
}

// relateNoLogin refuses credentials that nobody would send. Of a protocol with a login
// the missing mechanism has been said.
func (r *reader) relateNoLogin(k *Kafka) {
	given := r.givenOf(isLogin)
	switch {
	case len(given) == 0 || k.SecurityProtocol.sasl() || r.bad[securityProtocol]:
	case k.SecurityProtocol == "":
		r.refuse(saslMechanism, "is missing: "+given[0]+" is set, and without a mechanism there is no login")
	default:
		r.refuse(securityProtocol, fmt.Sprintf("%s is without a login, and %s is set: they have to agree", quote(string(k.SecurityProtocol)), given[0]))
		r.example(securityProtocol, string(protocolOf(k.TLSOn(), true)))
	}
}

// relateOAuth wants a token, or an endpoint with a client and its secret.
func (r *reader) relateOAuth() {
	switch {
	case r.given[oauthToken] && r.given[oauthTokenEndpoint]:
		r.refuse(oauthToken, fmt.Sprintf("is set by %s, and %s is set too: only one of the two can be meant, unset the other", r.asSet(oauthToken), r.asSet(oauthTokenEndpoint)))
	case r.given[oauthToken]:
	case !r.given[oauthTokenEndpoint]:
		r.need(oauthTokenEndpoint, fmt.Sprintf("%s is %s; set it, or %s%s", r.asSet(saslMechanism), MechanismOAuth, oauthToken, fileSuffix))
	default:
		r.need(oauthClientID, r.asSet(oauthTokenEndpoint)+" is set")
		r.need(oauthClientSecret, r.asSet(oauthTokenEndpoint)+" is set")
	}
}

// relateAWS wants one whole kind of credentials.
func (r *reader) relateAWS(k *Kafka) {
	hasKey := r.given[awsAccessKeyID] || r.given[awsSecretAccessKey]
	hasIdentity := r.given[awsWebIdentityToken] || r.given[awsRoleARN]
	hasContainer := r.given[awsContainerURI] || r.given[awsContainerPath]
	switch {
	case hasKey:
		r.need(awsSecretAccessKey, r.asSet(awsAccessKeyID)+" is set")
		r.need(awsAccessKeyID, r.asSet(awsSecretAccessKey)+" is set")
	case hasIdentity:
		r.need(awsWebIdentityToken, fmt.Sprintf("%s is set; set %s%s", r.asSet(awsRoleARN), awsWebIdentityToken, fileSuffix))
		r.need(awsRoleARN, r.asSet(awsWebIdentityToken)+" is set")
	case !hasContainer && k.AWS.EC2MetadataDisabled && !r.bad[awsMetadataDisabled]:
		r.refuse(saslMechanism, fmt.Sprintf("%s needs credentials: %s and %s, or %s and %s%s, or %s, or %s=false",
			MechanismAWS, awsAccessKeyID, awsSecretAccessKey, awsRoleARN, awsWebIdentityToken, fileSuffix, awsContainerURI, awsMetadataDisabled))
		r.example(awsWebIdentityToken+fileSuffix, "/var/run/secrets/eks.amazonaws.com/serviceaccount/token")
	}
}

// relateRegion wants a region where a broker's name has none to sign for.
func (r *reader) relateRegion(k *Kafka) {
	if k.Region() != "" || r.bad[saslAWSRegion] || r.bad[awsRegion] || r.bad[awsDefaultRegion] {
		return
	}
	at := slices.IndexFunc(k.Brokers, func(broker string) bool { return regionOf(broker) == "" })
	if at >= 0 {
		r.refuse(saslAWSRegion, fmt.Sprintf("is missing: the broker %s has no region in its name, and %s signs for one", quote(k.Brokers[at]), MechanismAWS))
	}
}
