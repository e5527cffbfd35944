package integration

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

// document runs every command of docs/kubernetes.md, and then every one of the chart's
// README, as it stands there, in its order. The manifests are those of deploy/kubernetes with the
// images of the test written over their own. The namespace is that of Kafka. The document takes for
// granted a Service kafka in it, three topics, a user, and two files.
func (k *kube) document(t *testing.T) {
	text, err := os.ReadFile("../docs/kubernetes.md")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("../deploy/kubernetes/chart/layover/README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks, more := commands(string(text)), commands(string(readme))
	if len(blocks) < 5 || len(more) < 3 {
		t.Fatalf("%d and %d blocks of commands in the documents", len(blocks), len(more))
	}
	f := &fixture{T: t, broker: k.broker, ingress: "delayed", egress: "ready", deadLetters: "dead-letters", group: "layover-orders"}
	f.client = f.kafka()
	f.admin = kadm.NewClient(f.client)
	for _, topic := range []string{f.ingress, f.egress, f.deadLetters} {
		f.createTopic(topic, 1, nil)
	}
	out := f.collect(f.egress)
	f.setPassword(kadm.ScramSha512, "open sesame")

	dir := manifests(t)
	here := filepath.Dir(filepath.Dir(dir))
	place(t, filepath.Join(here, "password"), "open sesame\n")
	k.ca.writeTo(t, filepath.Join(here, "ca.crt"))
	replaceImages(t, dir, strings.NewReplacer(
		"image: layover:0.1.0", "image: "+k.image, "repository: layover #", "repository: "+repository(k.image)+" #", `tag: ""`, fmt.Sprintf("tag: %q", tag(k.image)),
		"- name: layover #", "- name: "+repository(k.image)+" #", "newTag: 0.1.0", "newTag: "+tag(k.image),
		"busybox:1.37", k.kafka))
	home := t.TempDir()
	env := append(os.Environ(), "KUBECONFIG="+k.within(t, home), "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	t.Cleanup(func() {
		if t.Failed() {
			k.tell(t, k.namespaceOfKafka)
		}
	})
	for _, block := range append(blocks, more...) {
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
		cmd := exec.CommandContext(ctx, "sh", "-e", "-c", block)
		cmd.Dir, cmd.Env = here, env
		said, err := output(cmd, "")
		cancel()
		if err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
		first, _, _ := strings.Cut(block, "\n")
		t.Logf("%v: %s …", time.Since(began).Round(time.Millisecond), first)
	}
	out.await(1, 30*time.Second)
	if value := string(out.all()[0].Value); value != "hello" {
		t.Errorf("%q came, want what the document sends", value)
	}
	if !slices.ContainsFunc(out.all(), func(r arrival) bool { return string(r.Value) == "hello over TLS" }) {
		t.Error("what the document sends by TLS did not come")
	}
}

// commands returns the blocks of a Markdown text that are marked as sh.
func commands(text string) (blocks []string) {
	for {
		_, after, found := strings.Cut(text, "\n```sh\n")
		if !found {
			return blocks
		}
		var block string
		block, text, _ = strings.Cut(after, "\n```")
		blocks = append(blocks, block)
	}
}

func TestOnlyBlocksOfCommandsAreTakenForCommands(t *testing.T) {
	got := commands("# A\n\n```sh\none\ntwo \\\n  more\n```\n\n```yaml\nthree: 3\n```\n```sh\nfour\n```\n")
	if want := []string{"one\ntwo \\\n  more", "four"}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// repository and tag are the parts of an image's name.
func repository(image string) string { return strings.TrimSuffix(image, ":"+tag(image)) }

func tag(image string) string { return image[strings.LastIndex(image, ":")+1:] }

// replaceImages writes other images into all files below a folder.
func replaceImages(t *testing.T, dir string, images *strings.Replacer) {
	t.Helper()
	changed := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if text := images.Replace(string(b)); err == nil && text != string(b) {
			changed++
			err = os.WriteFile(path, []byte(text), 0o666)
		}
		return err
	})
	if err != nil || changed == 0 {
		t.Fatalf("images in %d files below %s: %v", changed, dir, err)
	}
}

// within writes a KUBECONFIG of which the namespace is that of Kafka.
func (k *kube) within(t *testing.T, dir string) string {
	t.Helper()
	name := filepath.Join(dir, fmt.Sprintf("config-%08x", rand.Uint32()))
	config := k.do(t, "", "config", "view", "--minify", "--flatten")
	if err := os.WriteFile(name, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	k.do(t, "", "--kubeconfig="+name, "config", "set-context", "--current", "--namespace="+k.namespaceOfKafka)
	return name
}
