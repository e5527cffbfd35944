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

// login refuses a mechanism without its credentials, and credentials without a
// mechanism.
func (c connectionRules) login() {
	m := c.k.SASL.Mechanism
	switch {
	case c.r.bad[saslMechanism]:
		return
	case m == "":
		c.noLogin()
		return
	}
	for _, variable := range needs[m] {
		c.r.need(variable, fmt.Sprintf("%s is %s", c.r.asSet(saslMechanism), m))
	}
	switch m {
	case MechanismOAuth:
		c.oauth()
	case MechanismAWS:
		c.aws()
		c.region()
	}
	if unused := c.r.givenOf(func(variable string) bool { return isLogin(variable) && !isOf(variable, m) }); len(unused) > 0 {
		c.r.warn("without effect with %s=%s: %s", saslMechanism, m, strings.Join(unused, ", "))
	}
}

// need refuses a setting that is not set. An empty file has its problem already.
func (r *rules) need(variable, reason string) {
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

// noLogin refuses credentials that nobody would send. Of a protocol with a login
// the missing mechanism has been said.
func (c connectionRules) noLogin() {
	given := c.r.givenOf(isLogin)
	switch {
	case len(given) == 0 || c.k.SecurityProtocol.sasl() || c.r.bad[securityProtocol]:
	case c.k.SecurityProtocol == "":
		c.r.refuse(saslMechanism, "is missing: "+given[0]+" is set, and without a mechanism there is no login")
	default:
		c.r.refuse(securityProtocol, fmt.Sprintf("%s is without a login, and %s is set: they have to agree", quote(string(c.k.SecurityProtocol)), given[0]))
		c.r.example(securityProtocol, string(protocolOf(c.k.TLSOn(), true)))
	}
}

// oauth wants a token, or an endpoint with a client and its secret.
func (c connectionRules) oauth() {
	switch {
	case c.r.given[oauthToken] && c.r.given[oauthTokenEndpoint]:
		c.r.refuse(oauthToken, fmt.Sprintf("is set by %s, and %s is set too: only one of the two can be meant, unset the other", c.r.asSet(oauthToken), c.r.asSet(oauthTokenEndpoint)))
	case c.r.given[oauthToken]:
	case !c.r.given[oauthTokenEndpoint]:
		c.r.need(oauthTokenEndpoint, fmt.Sprintf("%s is %s; set it, or %s%s", c.r.asSet(saslMechanism), MechanismOAuth, oauthToken, fileSuffix))
	default:
		c.r.need(oauthClientID, c.r.asSet(oauthTokenEndpoint)+" is set")
		c.r.need(oauthClientSecret, c.r.asSet(oauthTokenEndpoint)+" is set")
	}
}

// aws wants one whole kind of credentials.
func (c connectionRules) aws() {
	hasKey := c.r.given[awsAccessKeyID] || c.r.given[awsSecretAccessKey]
	hasIdentity := c.r.given[awsWebIdentityToken] || c.r.given[awsRoleARN]
	hasContainer := c.r.given[awsContainerURI] || c.r.given[awsContainerPath]
	switch {
	case hasKey:
		c.r.need(awsSecretAccessKey, c.r.asSet(awsAccessKeyID)+" is set")
		c.r.need(awsAccessKeyID, c.r.asSet(awsSecretAccessKey)+" is set")
	case hasIdentity:
		c.r.need(awsWebIdentityToken, fmt.Sprintf("%s is set; set %s%s", c.r.asSet(awsRoleARN), awsWebIdentityToken, fileSuffix))
		c.r.need(awsRoleARN, c.r.asSet(awsWebIdentityToken)+" is set")
	case !hasContainer && c.k.AWS.EC2MetadataDisabled && !c.r.bad[awsMetadataDisabled]:
		c.r.refuse(saslMechanism, fmt.Sprintf("%s needs credentials: %s and %s, or %s and %s%s, or %s, or %s=false",
			MechanismAWS, awsAccessKeyID, awsSecretAccessKey, awsRoleARN, awsWebIdentityToken, fileSuffix, awsContainerURI, awsMetadataDisabled))
		c.r.example(awsWebIdentityToken+fileSuffix, "/var/run/secrets/eks.amazonaws.com/serviceaccount/token")
	}
}

// region wants a region where a broker's name has none to sign for.
func (c connectionRules) region() {
	if c.k.Region() != "" || c.r.bad[saslAWSRegion] || c.r.bad[awsRegion] || c.r.bad[awsDefaultRegion] {
		return
	}
	at := slices.IndexFunc(c.k.Brokers, func(broker string) bool { return regionOf(broker) == "" })
	if at >= 0 {
		c.r.refuse(saslAWSRegion, fmt.Sprintf("is missing: the broker %s has no region in its name, and %s signs for one", quote(c.k.Brokers[at]), MechanismAWS))
	}
}
