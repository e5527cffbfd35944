package integration

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

// secret makes a Secret or changes it.
func (k *kube) secret(t *testing.T, namespace, name string, data map[string]string) {
	t.Helper()
	raw, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]string{"name": name}, "stringData": data})
	if err != nil {
		t.Fatal(err)
	}
	k.do(t, string(raw), "apply", "-n", namespace, "-f", "-")
}

// credentials is a Secret with what a Layover connects with, and its keys.
type credentials struct {
	*app
	data         map[string]string
	ca, password string
}

// newSecured makes an app that connects by TLS and SCRAM with the content of the Secret
// layover-kafka. Its user is its own.
func (k *kube) newSecured(t *testing.T, name, workload, ca, password string) *credentials {
	t.Helper()
	c := &credentials{app: k.newApp(t, name, "secured", workload), ca: ca, password: password}
	c.settings["KAFKA_BROKERS"], c.settings["KAFKA_SASL_USERNAME"] = k.secured, c.group
	c.setPasswordOf(c.group, kadm.ScramSha512, "first")
	c.data = map[string]string{ca: string(k.ca.pem), password: "first\n"}
	k.secret(t, c.namespace, "layover-kafka", c.data)
	return c
}

func (k *kube) secretOfASidecar(t *testing.T) {
	c := k.newSecured(t, "sidecar", sidecarDeployment, "ca.crt", "password")
	c.apply()
	c.changes()
}

// secretOfTheChart mounts files that nobody but their owner may read, and the pod's group.
func (k *kube) secretOfTheChart(t *testing.T) {
	c := k.newSecured(t, "chart", "deployment/layover", "ca.crt", "password")
	c.install(nil, "--values", "secured.yaml", "--set", "podSecurityContext.fsGroup=65532,extraVolumes[0].secret.defaultMode=256") // 0400
	c.changes()
}

// secretOfABinding has no setting of the connection but the root of bindings.
func (k *kube) secretOfABinding(t *testing.T) {
	c := k.newSecured(t, "binding", "deployment/layover", "ssl.truststore.crt", "password")
	maps.Copy(c.data, map[string]string{"type": "kafka", "bootstrap.servers": k.secured, "security.protocol": "SASL_SSL",
		"sasl.mechanism": "SCRAM-SHA-512", "username": c.group})
	k.secret(t, c.namespace, "layover-kafka", c.data)
	maps.DeleteFunc(c.settings, func(name, _ string) bool { return strings.HasPrefix(name, "KAFKA_") })
	c.settings["SERVICE_BINDING_ROOT"] = "/bindings"
	c.install(map[string]any{
		"extraVolumes":      []any{map[string]any{"name": "kafka", "projected": map[string]any{"sources": []any{map[string]any{"secret": map[string]any{"name": "layover-kafka"}}}}}},
		"extraVolumeMounts": []any{map[string]any{"name": "kafka", "mountPath": "/bindings/kafka", "readOnly": true}},
	})
	c.changes()
}

// install installs the chart as the release layover, with the settings of the app.
func (a *app) install(values map[string]any, args ...string) {
	a.Helper()
	all := map[string]any{"settings": a.settings, "replicaCount": 2, "image": map[string]string{"repository": repository(a.k.image), "tag": tag(a.k.image)}}
	maps.Copy(all, values)
	raw, err := json.Marshal(all)
	if err != nil {
		a.Fatal(err)
	}
	charts := filepath.Join(a.dir, "chart")
	place(a.T, filepath.Join(charts, "test.yaml"), string(raw))
	args = append(args, "--values", "test.yaml") // last, so that the settings of the app count
	if _, err := a.helm(append([]string{"upgrade", "--install", "layover", "layover"}, args...)...); err != nil {
		a.Fatal(err)
	}
}

// helm runs helm in the namespace and in the folder of the charts.
func (a *app) helm(args ...string) (string, error) {
	a.Helper()
	home := a.TempDir()
	cmd := exec.CommandContext(a.Context(), "helm", append([]string{"-n", a.namespace}, args...)...)
	cmd.Dir, cmd.Env = filepath.Join(a.dir, "chart"), append(os.Environ(), "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	return output(cmd, "")
}

// changes gives the user another password, and later the Secret. Until then the broker
// refuses every login. The certificate in the Secret is damaged at first, so that the one
// from before stays in force, and then stands beside a second one. Layover goes on without
// a restart, stays ready, and loses nothing.
func (c *credentials) changes() {
	c.Helper()
	c.rolledOut()
	pods, from := c.pods(2), c.mark()
	// A connection holds until it has to log in again: one that delivers may outlive one that commits.
	c.survives(50, again(50)+50*int(reauthenticate/time.Second), func() {
		c.setPasswordOf(c.group, kadm.ScramSha512, "second")
		c.say(pods, refuses, "KAFKA_SASL_PASSWORD")
		time.Sleep(reauthenticate) // every connection has had to log in again
		trusted := c.data[c.ca]
		c.change("second", "-----BEGIN CERTIFICATE-----\nnone\n-----END CERTIFICATE-----\n")
		changed := time.Now()
		c.say(pods, takes)
		c.Logf("the connections were taken %v after the Secret changed", time.Since(changed).Round(time.Second))
		c.say(pods, "stays in force", "KAFKA_TLS_CA")
		c.change("second", trusted+string(newAuthority(c.T, "Another authority").pem))
		c.say(pods, "certificates are in force as they are in their files")
		c.meanwhile("after the Secret changed")
	})
	if now := c.pods(2); !slices.Equal(now, pods) {
		c.Errorf("the pods %v became %v", pods, now)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.seen[from:] {
		if n := e.container("layover").RestartCount; n != 0 || e.condition("Ready") != "True" {
			c.Errorf("%s: %d restarts, ready %s", e.Object.Metadata.Name, n, e.condition("Ready"))
		}
	}
}

// change changes the Secret, and an annotation of the pods: the kubelet then looks at once,
// and not within a minute.
func (c *credentials) change(password, ca string) {
	c.Helper()
	c.data[c.password], c.data[c.ca] = password, ca
	c.k.secret(c.T, c.namespace, "layover-kafka", c.data)
	c.kubectl("annotate", "pods", "--all", "--overwrite", fmt.Sprintf("layover/changed=%d", time.Now().UnixNano()))
}

// say waits until each pod's log has all of the words in one line.
func (a *app) say(pods []string, words ...string) {
	a.Helper()
	for _, pod := range pods {
		eventually(a.T, time.Minute, fmt.Sprintf("%s says %s", pod, strings.Join(words, ", ")), func() bool {
			for line := range strings.Lines(a.kubectl("logs", pod, "--container=layover")) {
				if containsAll(line, words) {
					return true
				}
			}
			return false
		})
	}
}
