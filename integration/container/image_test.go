package container

import (
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"os/exec"
	"strings"
	"testing"
	"time"

	"layover/integration/engine"
)

const (
	// maxImageBytes bounds the image that the Dockerfile makes.
	maxImageBytes = 30_000_000
	// What the tests have the Dockerfile write into the image.
	testVersion  = "v0.0.0-test"
	testRevision = "0123456789abcdef0123456789abcdef01234567"
)

func TestTheDockerfileMakesASmallImageThatIsNotRoot(t *testing.T) {
	long(t)
	c, image := need(t, shared.engine), need(t, shared.image)
	var built struct {
		Size   int64
		Config struct {
			User         string
			ExposedPorts map[string]any
			Labels       map[string]string
		}
	}
	c.inspect(t, "image", image, &built)
	t.Logf("%.1f MB", float64(built.Size)/1e6)
	if built.Size > maxImageBytes {
		t.Errorf("the image has %d bytes, want %d at most", built.Size, maxImageBytes)
	}
	if user := built.Config.User; user != "65532:65532" {
		t.Errorf("the user is %q, want a number, so that Kubernetes can see that it is not root", user)
	}
	if _, is := built.Config.ExposedPorts["9846/tcp"]; !is {
		t.Errorf("exposed ports %v, want 9846/tcp", built.Config.ExposedPorts)
	}
	for name, want := range map[string]string{
		"title": "Layover", "licenses": "Apache-2.0", "version": testVersion, "revision": testRevision,
		"base.name": "gcr.io/distroless/static-debian12:nonroot",
	} {
		if got := built.Config.Labels["org.opencontainers.image."+name]; got != want {
			t.Errorf("label %s is %q, want %q", name, got, want)
		}
	}
	if built.Config.Labels["org.opencontainers.image.description"] == "" {
		t.Error("no description among the labels")
	}
}

// TestTheImageHasAuthoritiesToTrust: KAFKA_TLS_ENABLED without KAFKA_TLS_CA trusts the
// system's, which have to be where Go looks for them.
func TestTheImageHasAuthoritiesToTrust(t *testing.T) {
	long(t)
	c, image := need(t, shared.engine), need(t, shared.image)
	id := c.created(t, "create", image)
	defer c.Removal("rm", "--force", id)()
	authorities := 0
	for block, rest := pem.Decode(c.file(t, id, "/etc/ssl/certs/ca-certificates.crt")); block != nil; block, rest = pem.Decode(rest) {
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			t.Error(err)
		}
		authorities++
	}
	if authorities < 50 {
		t.Errorf("%d authorities, want the system's", authorities)
	}
}

// TestAContainerIsHealthyWithoutKafka: where no Kafka answers that is not an error,
// so it has to be alive, and to stop with 0.
func TestAContainerIsHealthyWithoutKafka(t *testing.T) {
	long(t)
	c, image := need(t, shared.engine), need(t, shared.image)
	args := []string{"--read-only", "--cap-drop", "ALL", "--health-interval", "1s"}
	for _, setting := range append(minimal(), "KAFKA_BROKERS=127.0.0.1:1") { // where nobody listens
		args = append(args, "--env", setting)
	}
	id := c.start(t, append(args, image)...)
	eventually(t, 30*time.Second, "healthy", func() bool { return c.state(t, id).State.Health.Status == "healthy" })
	if out, err := c.Run(engine.AskTimeout, "exec", id, "/layover", "health"); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if out, err := c.Run(engine.AskTimeout, "exec", id, "/layover", "version"); err != nil || !strings.Contains(out, testVersion) || !strings.Contains(out, "revision "+testRevision+"\n") || !strings.Contains(out, "linux/") {
		t.Errorf("version: %v: %s", err, out)
	}
	if _, err := c.Run(time.Minute, "stop", id); err != nil {
		t.Fatal(err)
	}
	if s := c.state(t, id).State; s.ExitCode != 0 || s.Status != "exited" {
		t.Errorf("%s with exit code %d after it was stopped, want 0", s.Status, s.ExitCode)
	}
}

func TestTheCommandsOfTheDocumentWork(t *testing.T) {
	long(t)
	c := need(t, shared.engine)
	need(t, shared.image) // where that cannot be built, it was found out once
	for _, program := range []string{"bash", "git", "tar", "timeout"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("skipped: the document uses %s, which is not installed", program)
		}
	}
	if out, err := exec.Command("git", "-C", project, "rev-parse", "HEAD").CombinedOutput(); err != nil {
		t.Skipf("skipped: the document asks git for the revision, and this is no repository: %s", out)
	}
	tag, name := "layover-test:"+engine.Random(), "layover-test-"+engine.Random()
	remove := []func() error{c.Removal("image", "rm", "--force", tag), c.Removal("rm", "--force", name)}
	for _, undo := range remove {
		shared.later(undo)
	}
	s := newShell(t, nil, "layover:dev", tag, "my-layover", name, "127.0.0.1:9846:", "127.0.0.1::")

	build := blocks(t, "Build")
	quiet := "docker build --quiet"
	for setting, value := range engine.ModuleSettings() { // as the other images: what is compiled once is enough
		quiet += " --build-arg " + setting + "='" + value + "'"
	}
	if out := s.must(t, engine.BuildTimeout, strings.Replace(build[0], "docker build", quiet, 1)); !strings.Contains(out, "layover v1.2.3\n") {
		t.Errorf("version: %s", out)
	}
	revision := s.must(t, engine.AskTimeout, "git rev-parse HEAD")
	if out := s.must(t, engine.AskTimeout, build[1]); !strings.Contains(out, "image.version=v1.2.3\n") || !strings.Contains(out, "image.revision="+revision) {
		t.Errorf("labels: %s", out)
	}
	var bill struct {
		Metadata struct{ Component struct{ Version string } }
	}
	sbom := json.NewDecoder(strings.NewReader(s.must(t, time.Minute, blocks(t, "What is in it")[0])))
	if err := sbom.Decode(&bill); err != nil || bill.Metadata.Component.Version != "v1.2.3" {
		t.Errorf("the bill of materials is of %q: %v", bill.Metadata.Component.Version, err)
	}
	s.must(t, 2*time.Minute, blocks(t, "Run")[0])
	if t.Failed() {
		return
	}
	if err := remove[0](); err != nil {
		t.Error(err)
	}
}
