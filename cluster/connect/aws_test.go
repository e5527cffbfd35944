package connect

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"layover/config"
)

const (
	mskBroker = "b-1.demo.abc123.c2.kafka.eu-central-1.amazonaws.com:9098"
	ownBroker = "kafka.example.com:9098"
	emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
)

// iam is the settings of AWS_MSK_IAM.
func iam(aws config.AWS) config.Kafka {
	return config.Kafka{Brokers: []string{ownBroker}, SASL: config.SASL{Mechanism: config.MechanismAWS}, AWS: aws}
}

// accessKey is static credentials; a session token where it is not empty.
func accessKey(session string) config.AWS {
	a := config.AWS{AccessKeyID: config.NewSecret("AKIDEXAMPLE"), SecretAccessKey: config.NewSecret("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"), EC2MetadataDisabled: true}
	if session != "" {
		a.SessionToken = config.NewSecret(session)
	}
	return a
}

// payload is what is sent to a broker, by its names in lower case.
func (w *fixture) payload(c *Connection, broker string) (map[string]string, error) {
	_, sent, err := c.mechanism.Authenticate(w.Context(), broker)
	if err != nil {
		return nil, err
	}
	all := make(map[string]string)
	if err := json.Unmarshal(sent, &all); err != nil {
		w.Fatalf("%v: %s", err, sent)
	}
	return all, nil
}

// region is the one that a payload is signed for.
func (w *fixture) region(c *Connection, broker string) string {
	w.Helper()
	all, err := w.payload(c, broker)
	if err != nil {
		return err.Error()
	}
	scope := strings.Split(all["x-amz-credential"], "/") // key, date, region, service, aws4_request
	if len(scope) != 5 {
		w.Fatalf("credential %q", all["x-amz-credential"])
	}
	return scope[2]
}

func TestThePayloadIsAsAWSsOwnSignerSigns(t *testing.T) {
	for name, session := range map[string]string{"an access key": "", "with a session token": "IQoJb3JpZ2luX2VjE/+a=="} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *fixture) {
				w.Setenv("AWS_REGION", "")
				w.Setenv("AWS_DEFAULT_REGION", "")
				aws := accessKey(session)
				got, err := w.payload(w.connect(iam(aws)), mskBroker)
				if err != nil {
					t.Fatal(err)
				}
				signedAt, err := time.Parse("20060102T150405Z", got["x-amz-date"])
				if err != nil || !signedAt.Equal(time.Now()) {
					t.Fatalf("signed at %q, error %v, want now", got["x-amz-date"], err)
				}
				host, _, _ := net.SplitHostPort(mskBroker)
				r := httptest.NewRequest("GET", "https://"+host+"/?Action=kafka-cluster%3AConnect&X-Amz-Expires=300", nil)
				id, _ := aws.AccessKeyID.Read()
				secret, _ := aws.SecretAccessKey.Read()
				signed, _, err := v4.NewSigner().PresignHTTP(w.Context(), awssdk.Credentials{AccessKeyID: id, SecretAccessKey: secret, SessionToken: session}, r, emptyHash, "kafka-cluster", "eu-central-1", signedAt)
				if err != nil {
					t.Fatal(err)
				}
				u, err := url.Parse(signed)
				if err != nil {
					t.Fatal(err)
				}
				want := map[string]string{"host": host, "version": "2020_10_22", "user-agent": got["user-agent"]}
				for key, values := range u.Query() {
					want[strings.ToLower(key)] = values[0]
				}
				if !maps.Equal(got, want) || got["x-amz-signature"] == "" || got["x-amz-security-token"] != session {
					t.Errorf("payload\n%v, want\n%v", got, want)
				}
			})
		})
	}
}

func TestTheRegionToSignFor(t *testing.T) {
	for name, want := range map[string]struct {
		sasl, region, other, broker, signed string
	}{
		"the broker's name":      {"eu-west-1", "eu-west-2", "eu-west-3", mskBroker, "eu-central-1"},
		"KAFKA_SASL_AWS_REGION":  {"eu-west-1", "eu-west-2", "eu-west-3", ownBroker, "eu-west-1"},
		"AWS_REGION":             {"", "eu-west-2", "eu-west-3", ownBroker, "eu-west-2"},
		"AWS_DEFAULT_REGION":     {"", "", "eu-west-3", ownBroker, "eu-west-3"},
		"none":                   {"", "", "", ownBroker, `cannot determine the region in "kafka.example.com"`},
		"none, and none is used": {"", "", "", mskBroker, "eu-central-1"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *fixture) {
				w.Setenv("AWS_REGION", want.region) // as the process's environment has what the settings have
				w.Setenv("AWS_DEFAULT_REGION", want.other)
				k := iam(accessKey(""))
				k.SASL.AWSRegion, k.AWS.Region, k.AWS.DefaultRegion = want.sasl, want.region, want.other
				if got := w.region(w.connect(k), want.broker); got != want.signed {
					t.Errorf("signed for %s, want %s", got, want.signed)
				}
			})
		})
	}
}

func TestAnAccessKeyIsReadForEachSession(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.Setenv("AWS_REGION", "eu-west-1")
		c := w.connect(iam(config.AWS{AccessKeyID: w.file("id", "FIRST"), SecretAccessKey: w.file("secret", "a"), SessionToken: w.file("session", "s1")}))
		first, err := w.payload(c, ownBroker)
		if err != nil {
			t.Fatal(err)
		}
		w.write("id", "SECOND")
		w.write("secret", "b")
		w.write("session", "s2")
		second, err := w.payload(c, ownBroker)
		if err != nil || !strings.HasPrefix(first["x-amz-credential"], "FIRST/") || !strings.HasPrefix(second["x-amz-credential"], "SECOND/") ||
			first["x-amz-security-token"] != "s1" || second["x-amz-security-token"] != "s2" || first["x-amz-signature"] == second["x-amz-signature"] {
			t.Errorf("error %v, payloads %v and %v", err, first, second)
		}
		for file, variable := range map[string]string{"id": "AWS_ACCESS_KEY_ID", "secret": "AWS_SECRET_ACCESS_KEY", "session": "AWS_SESSION_TOKEN"} {
			w.write(file, "")
			if _, err := w.payload(c, ownBroker); err == nil || !strings.HasPrefix(err.Error(), variable+": the file") {
				t.Errorf("error %v, want one of %s", err, variable)
			}
			w.write(file, "x")
		}
	})
}

// roles answers with credentials that are valid for an hour, numbered.
func roles(n *atomic.Int32, asked *[]url.Values) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		r.ParseForm()
		*asked = append(*asked, r.PostForm)
		rw.Header().Set("Content-Type", "text/xml")
		fmt.Fprintf(rw, `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult><Credentials>
<AccessKeyId>ROLE%d</AccessKeyId><SecretAccessKey>x</SecretAccessKey><SessionToken>session%[1]d</SessionToken><Expiration>%s</Expiration>
</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`, n.Add(1), time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	}
}

// webIdentitySettings are those of EKS's roles for service accounts.
func (w *fixture) webIdentitySettings() config.Kafka {
	return iam(config.AWS{
		Region: "eu-west-1", RoleARN: "arn:aws:iam::123456789012:role/layover", WebIdentityToken: w.file("token", "jwt1"),
		EndpointURLSTS: "http://" + endpointAddr, EC2MetadataDisabled: true,
	})
}

// signs wants a payload of a key.
func (w *fixture) signs(c *Connection, key, session string) {
	w.Helper()
	got, err := w.payload(c, ownBroker)
	if err != nil || !strings.HasPrefix(got["x-amz-credential"], key+"/") || got["x-amz-security-token"] != session {
		w.Errorf("error %v, payload %v, want one of %s with %s", err, got, key, session)
	}
}

func TestAWebIdentityAssumesItsRoleAgainBeforeTheEnd(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.Setenv("AWS_REGION", "eu-west-1")
		var n atomic.Int32
		var asked []url.Values
		w.serve(endpointAddr, roles(&n, &asked))
		c := w.connect(w.webIdentitySettings())
		w.signs(c, "ROLE1", "session1")
		w.write("token", "jwt2")
		time.Sleep(58 * time.Minute)
		w.signs(c, "ROLE1", "session1")
		time.Sleep(time.Minute + time.Second)
		w.signs(c, "ROLE2", "session2")
		for i, want := range []string{"jwt1", "jwt2"} {
			if got := asked[i]; len(asked) != 2 || got.Get("WebIdentityToken") != want || got.Get("RoleArn") != "arn:aws:iam::123456789012:role/layover" || got.Get("RoleSessionName") != "layover" {
				t.Errorf("%d requests, number %d with %v, want %s", len(asked), i+1, got, want)
			}
		}
	})
}

const identity = "eyJhbGciOi.canary+identity.sig"

func TestARoleThatIsNotAssumed(t *testing.T) {
	fails := func(status int, code string) http.HandlerFunc { // repeats the token
		return func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Content-Type", "text/xml")
			rw.WriteHeader(status)
			fmt.Fprintf(rw, `<ErrorResponse><Error><Code>%s</Code><Message>no %s</Message></Error></ErrorResponse>`, code, identity)
		}
	}
	const at = "AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN: no AWS credentials: "
	for name, want := range map[string]struct {
		answer http.HandlerFunc
		text   string
	}{
		"denied":         {fails(403, "AccessDenied"), at + "AccessDenied"},
		"an old token":   {fails(400, "ExpiredTokenException"), at + "ExpiredTokenException"},
		"another":        {fails(400, identity), at + "400 Bad Request"},
		"down":           {fails(503, "x"), at + "503 Service Unavailable"},
		"no XML":         {says(200, identity), at + "its answer cannot be understood"},
		"other XML":      {says(200, "<html/>"), at + "its answer cannot be understood"},
		"nothing":        {says(200, ""), at + "its answer cannot be understood"},
		"no credentials": {says(200, `<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials/></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`), at + "its answer cannot be understood"},
		"never":          {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, at + "no answer in time"},
		"another address": {func(rw http.ResponseWriter, r *http.Request) {
			http.Redirect(rw, r, "http://localhost:8081/", http.StatusTemporaryRedirect)
		}, at + "307 Temporary Redirect"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *fixture) {
				w.Setenv("AWS_REGION", "eu-west-1")
				w.serve(endpointAddr, func(rw http.ResponseWriter, r *http.Request) {
					io.Copy(io.Discard, r.Body)
					want.answer(rw, r)
				})
				w.serve("localhost:8081", func(http.ResponseWriter, *http.Request) { t.Error("the token goes elsewhere") })
				k := w.webIdentitySettings()
				w.write("token", identity)
				began := time.Now()
				_, err := w.payload(w.connect(k), ownBroker)
				if err == nil || err.Error() != want.text || time.Since(began) > awsTimeout {
					t.Errorf("error %v after %v, want %q", err, time.Since(began), want.text)
				}
				if _, ok := errors.AsType[*credentialError](err); !ok || holdsSecret(err.Error(), identity) {
					t.Errorf("error %#v", err)
				}
			})
		})
	}
	t.Run("no file", func(t *testing.T) {
		inBubble(t, func(w *fixture) {
			k := w.webIdentitySettings()
			k.AWS.WebIdentityToken = config.SecretFile(w.dir + "/none")
			if _, err := w.payload(w.connect(k), ownBroker); err == nil || !strings.HasPrefix(err.Error(), "AWS_WEB_IDENTITY_TOKEN_FILE: the file") {
				t.Errorf("error %v", err)
			}
		})
	})
}

func TestAContainersCredentials(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.Setenv("AWS_REGION", "eu-west-1")
		var n atomic.Int32
		w.serve(endpointAddr, func(rw http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != fmt.Sprint("token", n.Add(1)) || r.URL.Path != "/v1/credentials" {
				http.Error(rw, "no "+r.Header.Get("Authorization"), http.StatusForbidden)
				return
			}
			says(200, fmt.Sprintf(`{"AccessKeyId":"POD%d","SecretAccessKey":"x","Token":"session%[1]d","Expiration":%q}`, n.Load(), time.Now().Add(time.Hour).UTC().Format(time.RFC3339)))(rw, r)
		})
		c := w.connect(iam(config.AWS{ContainerURI: "http://" + endpointAddr + "/v1/credentials", ContainerAuthToken: w.file("token", "token1"), EC2MetadataDisabled: true}))
		w.signs(c, "POD1", "session1")
		w.write("token", "token2")
		time.Sleep(59*time.Minute + time.Second)
		w.signs(c, "POD2", "session2")
		time.Sleep(time.Hour)
		if _, err := w.payload(c, ownBroker); err == nil || err.Error() != "AWS_CONTAINER_CREDENTIALS_FULL_URI: no AWS credentials: 403 Forbidden" {
			t.Errorf("error %v, want one without the text of the answer", err)
		}
		w.write("token", "")
		if _, err := w.payload(c, ownBroker); err == nil || !strings.HasPrefix(err.Error(), "AWS_CONTAINER_AUTHORIZATION_TOKEN: the file") {
			t.Errorf("error %v, want one of the token's file", err)
		}
	})
}

func TestAContainerWithoutCredentials(t *testing.T) {
	for _, answer := range []string{"null", "{}", `{"AccessKeyId":"x"}`, "", "no", "[]"} {
		inBubble(t, func(w *fixture) {
			w.Setenv("AWS_REGION", "eu-west-1")
			w.serve(endpointAddr, says(200, answer))
			_, err := w.payload(w.connect(iam(config.AWS{ContainerURI: "http://" + endpointAddr})), ownBroker)
			if err == nil || err.Error() != "AWS_CONTAINER_CREDENTIALS_FULL_URI: no AWS credentials: its answer cannot be understood" {
				t.Errorf("%q: error %v", answer, err)
			}
		})
	}
}

func TestInstanceMetadataIsAskedOnlyWhereItIsAllowed(t *testing.T) {
	var asked atomic.Int32
	metadata := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		switch r.URL.Path {
		case "/latest/api/token":
			rw.Header().Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "21600")
			io.WriteString(rw, "token")
		case "/latest/meta-data/iam/security-credentials/":
			io.WriteString(rw, "role")
		case "/latest/meta-data/iam/security-credentials/role":
			fmt.Fprintf(rw, `{"Code":"Success","AccessKeyId":"NODE","SecretAccessKey":"x","Token":"session","Expiration":%q}`, time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
		default:
			rw.WriteHeader(404)
		}
	}))
	defer metadata.Close()
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	w := overTCP(t)
	t.Setenv("AWS_REGION", "eu-west-1")
	down := "http://127.0.0.1:1"
	for name, aws := range map[string]config.AWS{
		"an access key":     accessKey(""),
		"a web identity":    {RoleARN: "x", WebIdentityToken: config.NewSecret("x"), EndpointURLSTS: down},
		"a container":       {ContainerURI: down},
		"nothing, disabled": {EC2MetadataDisabled: true},
	} {
		aws.EC2MetadataEndpoint = metadata.URL
		inBubble(t, func(w *fixture) { // in which the SDK's retries take no time
			_, err := w.payload(w.connect(iam(aws)), ownBroker)
			if n := asked.Load(); n > 0 || (err == nil) != (name == "an access key") {
				t.Errorf("%s: %d requests, error %v, want no request", name, n, err)
			}
		})
	}
	w.signs(w.connect(iam(config.AWS{EC2MetadataEndpoint: metadata.URL})), "NODE", "session")
	if asked.Load() == 0 {
		t.Error("no request where it is allowed")
	}
}

func TestABrokerThatDoesNotTakeTheAWSLogin(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.Setenv("AWS_REGION", "eu-west-1")
		w.start()
		taken := true
		w.judge(func(string) (int16, string, string) {
			if taken {
				return 0, "", `{"version":"2020_10_22","request-id":"x"}`
			}
			return notTaken, "Access denied", ""
		})
		k := iam(accessKey(""))
		k.Brokers, k.TLS.Enabled = nil, config.ToggleFalse // the broker here has no TLS
		c := w.connect(k)
		if err := w.ping(c); err != nil {
			t.Fatal(err)
		}
		taken = false
		err := w.ping(c)
		if s := c.Status(); err == nil || len(s.Refused) != 1 || s.Refused[0].Reason != ReasonLogin || !strings.Contains(s.Refused[0].LookAt, "KAFKA_SASL_AWS_REGION") {
			t.Errorf("error %v, status %+v, want a refusal of the login", err, s)
		}
	})
}
