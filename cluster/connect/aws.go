package connect

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"os"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials/ec2rolecreds"
	"github.com/aws/aws-sdk-go-v2/credentials/endpointcreds"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"
	"github.com/twmb/franz-go/pkg/sasl/aws"

	"layover/config"
)

// awsTimeout bounds one look for credentials.
const awsTimeout = 10 * time.Second

// awsKeys are the credentials for AWS_MSK_IAM. Which kind they are is chosen by the
// settings alone, and not by what answers.
type awsKeys struct {
	cfg    *config.AWS
	cached *awssdk.CredentialsCache // nil for an access key
	lookAt string
}

// newAWS finds the kind of credentials. kgo signs for the region in a broker's name, and
// otherwise for the one in the environment of the process. So it is set there.
func newAWS(k *config.Kafka, dial dialFunc) *awsKeys {
	if region := k.Region(); region != "" {
		os.Setenv("AWS_REGION", region)
	}
	a := &awsKeys{cfg: &k.AWS}
	client := httpClient(dial, nil)
	var provider awssdk.CredentialsProvider
	switch {
	case k.AWS.AccessKeyID.IsSet():
		return a
	case k.AWS.WebIdentityToken.IsSet():
		a.lookAt = "AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN"
		provider = webIdentity(k, client)
	case k.AWS.ContainerURI != "" || k.AWS.ContainerPath != "":
		a.lookAt = "AWS_CONTAINER_CREDENTIALS_FULL_URI"
		if k.AWS.ContainerURI == "" {
			a.lookAt = "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"
		}
		provider = container(&k.AWS, client)
	case k.AWS.EC2MetadataDisabled:
		return a // the settings have refused that
	default:
		a.lookAt = "AWS_EC2_METADATA_DISABLED"
		provider = ec2rolecreds.New(func(o *ec2rolecreds.Options) {
			o.Client = imds.New(imds.Options{Endpoint: k.AWS.EC2MetadataEndpoint, ClientEnableState: imds.ClientEnabled})
		})
	}
	a.cached = awssdk.NewCredentialsCache(checked{provider}, func(o *awssdk.CredentialsCacheOptions) { o.ExpiryWindow = time.Minute })
	return a
}

// checked makes an error of an answer without credentials. The SDK dereferences nil there,
// in a goroutine of its own: a wrong page in place of an answer would end the process. The
// time-out is here, as the SDK's cache asks for all clients, by the context of none.
type checked struct{ awssdk.CredentialsProvider }

// Retrieve implements aws.CredentialsProvider.
func (c checked) Retrieve(ctx context.Context) (keys awssdk.Credentials, err error) {
	defer func() {
		if recover() != nil || err == nil && !keys.HasKeys() {
			err = errors.New("no credentials in the answer")
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, awsTimeout)
	defer cancel()
	return c.CredentialsProvider.Retrieve(ctx)
}

// auth returns credentials that have not ended.
func (a *awsKeys) auth(ctx context.Context) (aws.Auth, error) {
	if a.cached == nil {
		return a.accessKey()
	}
	keys, err := a.cached.Retrieve(ctx)
	if err != nil && errors.Is(ctx.Err(), context.Canceled) { // the client is closed
		return aws.Auth{}, ctx.Err()
	}
	if err != nil {
		return aws.Auth{}, a.refused(err)
	}
	return aws.Auth{AccessKey: keys.AccessKeyID, SecretKey: keys.SecretAccessKey, SessionToken: keys.SessionToken}, nil
}

// awsCodes are the errors of STS that say more than their status code does.
var awsCodes = map[string]bool{
	"AccessDenied": true, "ExpiredTokenException": true, "IDPRejectedClaim": true, "IDPCommunicationError": true,
	"InvalidIdentityToken": true, "RegionDisabledException": true,
}

// refused names the setting to look at. As of a token endpoint, no text of an answer is
// repeated.
func (a *awsKeys) refused(err error) error {
	if e, ok := errors.AsType[*credentialError](err); ok {
		return e
	}
	if a.cfg.ContainerAuthToken.IsSet() { // the SDK keeps the text of its error alone
		if _, err := read(a.cfg.ContainerAuthToken, containerToken); err != nil {
			return err
		}
	}
	var code smithy.APIError
	var status interface{ HTTPStatusCode() int }
	switch {
	case errors.As(err, &code) && awsCodes[code.ErrorCode()]:
		return lookAt(a.lookAt, "no AWS credentials: %s", code.ErrorCode())
	case errors.As(err, &status) && status.HTTPStatusCode() >= 300:
		return lookAt(a.lookAt, "no AWS credentials: %s", statusText(status.HTTPStatusCode()))
	}
	return lookAt(a.lookAt, "no AWS credentials: %s", unanswered(err))
}

// accessKey reads the static credentials, of which the files may be written anew.
func (a *awsKeys) accessKey() (auth aws.Auth, err error) {
	if auth.AccessKey, err = read(a.cfg.AccessKeyID, "AWS_ACCESS_KEY_ID"); err != nil {
		return auth, err
	}
	if auth.SecretKey, err = read(a.cfg.SecretAccessKey, "AWS_SECRET_ACCESS_KEY"); err != nil {
		return auth, err
	}
	if a.cfg.SessionToken.IsSet() {
		auth.SessionToken, err = read(a.cfg.SessionToken, "AWS_SESSION_TOKEN")
	}
	return auth, err
}

func webIdentity(k *config.Kafka, client *http.Client) awssdk.CredentialsProvider {
	conf := awssdk.Config{Region: cmp.Or(k.Region(), "us-east-1"), HTTPClient: client}
	if k.AWS.EndpointURLSTS != "" {
		conf.BaseEndpoint = &k.AWS.EndpointURLSTS
	}
	return stscreds.NewWebIdentityRoleProvider(sts.NewFromConfig(conf), k.AWS.RoleARN, identityToken{k.AWS.WebIdentityToken},
		func(o *stscreds.WebIdentityRoleOptions) { o.RoleSessionName = cmp.Or(k.AWS.RoleSessionName, "layover") })
}

// identityToken is read for each role that is assumed.
type identityToken struct{ config.Secret }

// GetIdentityToken implements stscreds.IdentityTokenRetriever.
func (t identityToken) GetIdentityToken() ([]byte, error) {
	text, err := read(t.Secret, "AWS_WEB_IDENTITY_TOKEN_FILE")
	return []byte(text), err
}

const (
	// containerHost is where ECS serves the credentials of AWS_CONTAINER_CREDENTIALS_RELATIVE_URI.
	containerHost  = "http://169.254.170.2"
	containerToken = "AWS_CONTAINER_AUTHORIZATION_TOKEN"
)

func container(a *config.AWS, client *http.Client) awssdk.CredentialsProvider {
	return endpointcreds.New(cmp.Or(a.ContainerURI, containerHost+a.ContainerPath), func(o *endpointcreds.Options) {
		o.HTTPClient = client
		if a.ContainerAuthToken.IsSet() {
			o.AuthorizationTokenProvider = endpointcreds.TokenProviderFunc(func() (string, error) {
				return read(a.ContainerAuthToken, containerToken)
			})
		}
	})
}
