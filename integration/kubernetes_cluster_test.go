package integration

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"layover/integration/engine"
)

// kube is a cluster, with a Kafka in it that all tests share.
type kube struct {
	run    string // a label of all that this run of the tests makes
	image  string // of Layover, which the nodes have
	kafka  string // the image of Kafka, and of applications: it has a shell
	broker *broker
	inside string // the broker's address for pods

	secured string // the same with TLS and SCRAM-SHA-512
	ca      *authority

	namespaceOfKafka string
}

// findCluster returns the cluster that KUBECONFIG names. That alone is not enough
// to be asked for: the tests drain a node, and KUBECONFIG may name anything. Who
// says how images come to the nodes means it.
func findCluster() (*kube, error) {
	if os.Getenv("KUBECONFIG") == "" {
		return nil, engine.Unavailable("KUBECONFIG names no cluster")
	}
	if os.Getenv("LAYOVER_TEST_LOAD_IMAGE") == "" && os.Getenv("LAYOVER_TEST_IMAGE") == "" {
		return nil, engine.Unavailable("neither LAYOVER_TEST_LOAD_IMAGE, the command that copies an image to the nodes, nor LAYOVER_TEST_IMAGE, an image that they have or can pull, is set")
	}
	if image := os.Getenv("LAYOVER_TEST_IMAGE"); image != "" && !strings.Contains(path.Base(image), ":") {
		return nil, fmt.Errorf("LAYOVER_TEST_IMAGE %q has no tag, want name:tag", image)
	}
	for _, program := range []string{"kubectl", "helm"} {
		if _, err := exec.LookPath(program); err != nil {
			return nil, engine.Unavailable("there is no " + program + " on the PATH")
		}
	}
	k := &kube{run: fmt.Sprintf("%08x", rand.Uint32()), kafka: cmp.Or(os.Getenv("LAYOVER_TEST_KAFKA_IMAGE"), defaultKafkaImage)}
	if _, err := k.try(10*time.Second, "", "version", "--request-timeout=5s"); err != nil {
		return nil, engine.Unavailable("the cluster of KUBECONFIG does not answer: " + engine.FirstLine(err))
	}
	return k, nil
}

// try runs kubectl and returns its standard output. Warnings are errors.
func (k *kube) try(within time.Duration, stdin string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	return output(exec.CommandContext(ctx, "kubectl", append([]string{"--warnings-as-errors"}, args...)...), stdin)
}

// output runs a command and returns its standard output. Its standard error is
// part of an error.
func output(cmd *exec.Cmd, stdin string) (string, error) {
	cmd.Stdin = strings.NewReader(stdin)
	cmd.WaitDelay = time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), err
}

// do is try, within a minute, and fails the test.
func (k *kube) do(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	out, err := k.try(time.Minute, stdin, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// get decodes an object.
func (k *kube) get(t *testing.T, into any, args ...string) {
	t.Helper()
	if err := json.Unmarshal([]byte(k.do(t, "", append(append([]string{"get"}, args...), "-o", "json")...)), into); err != nil {
		t.Fatal(err)
	}
}

// prepare brings the images to the nodes and starts Kafka. What this run made is
// gone when the test ends.
func (k *kube) prepare(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		if _, err := k.try(2*time.Minute, "", "delete", "namespaces", "--selector", "layover-test="+k.run); err != nil {
			t.Error(err)
		}
	})
	k.image = os.Getenv("LAYOVER_TEST_IMAGE")
	if k.image == "" {
		docker := need(t, engine.Find)
		built := need(t, func() (string, error) { return docker.BuildProject("..") })
		t.Cleanup(func() { docker.Run(time.Minute, "image", "rm", "--force", built) })
		// The same name every time, so that a node keeps one of them and not all.
		k.image = "layover-integration:on-a-cluster"
		if _, err := docker.Run(time.Minute, "tag", built, k.image); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { docker.Run(time.Minute, "image", "rm", k.image) })
		k.load(t, k.image)
		if !k.nodesHave(t, k.kafka) {
			k.load(t, k.kafka)
		}
	}
	k.startKafka(t)
}

// load copies an image of this machine to the nodes.
func (k *kube) load(t *testing.T, image string) {
	t.Helper()
	command := strings.Fields(os.Getenv("LAYOVER_TEST_LOAD_IMAGE"))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if _, err := output(exec.CommandContext(ctx, command[0], append(command[1:], image)...), ""); err != nil {
		t.Fatalf("LAYOVER_TEST_LOAD_IMAGE: %v", err)
	}
}

// nodesHave reports whether a node says that it has an image, under its name or
// with a registry before it.
func (k *kube) nodesHave(t *testing.T, image string) bool {
	t.Helper()
	var nodes struct {
		Items []struct {
			Status struct{ Images []struct{ Names []string } }
		}
	}
	k.get(t, &nodes, "nodes")
	for _, n := range nodes.Items {
		for _, i := range n.Status.Images {
			for _, name := range i.Names {
				if name == image || strings.HasSuffix(name, "/"+image) {
					return true
				}
			}
		}
	}
	return false
}

// namespace makes a namespace in which no pod runs that the restricted profile
// does not allow. The cluster warns there of a workload whose pods the profile
// would refuse.
func (k *kube) namespace(t *testing.T) string {
	t.Helper()
	name := fmt.Sprintf("layover-test-%08x", rand.Uint32())
	k.do(t, fmt.Sprintf(`{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": %q, "labels": {
		"layover-test": %q, "pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/warn": "restricted"}}}`, name, k.run),
		"create", "-f", "-")
	t.Cleanup(func() {
		if t.Failed() {
			k.tell(t, name)
		}
		if _, err := k.try(time.Minute, "", "delete", "namespace", name, "--wait=false"); err != nil {
			t.Error(err)
		}
	})
	return name
}

// tell prints what a namespace holds when its test failed.
func (k *kube) tell(t *testing.T, namespace string) {
	for _, args := range [][]string{
		{"get", "pods", "-o", "wide"},
		{"get", "events", "--sort-by=.lastTimestamp"},
		{"logs", "--selector=app.kubernetes.io/name", "--container=layover", "--tail=60", "--prefix", "--ignore-errors"},
	} {
		out, err := k.try(20*time.Second, "", append(args, "-n", namespace)...)
		t.Logf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

const kafkaManifest = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: kafka}
spec:
  selector: {matchLabels: {app: kafka}}
  template:
    metadata: {labels: {app: kafka}}
    spec:
      automountServiceAccountToken: false
      enableServiceLinks: false # its image takes every KAFKA_ variable for a setting
      terminationGracePeriodSeconds: 1
      containers:
      - name: kafka
        image: %[1]s
        command: [sh, -c, "chmod -R u+w /etc/kafka/docker; exec /etc/kafka/docker/run"]
        env:
        - {name: KAFKA_NODE_ID, value: "1"}
        - {name: KAFKA_PROCESS_ROLES, value: "broker,controller"}
        - {name: KAFKA_LISTENERS, value: "INSIDE://:9092,CONTROLLER://:9093,SECURED://:9094,OUTSIDE://:9095"}
        - {name: KAFKA_ADVERTISED_LISTENERS, value: "INSIDE://%[2]s,SECURED://%[4]s,OUTSIDE://%[3]s"}
        - {name: KAFKA_LISTENER_SECURITY_PROTOCOL_MAP, value: "CONTROLLER:PLAINTEXT,INSIDE:PLAINTEXT,SECURED:SASL_SSL,OUTSIDE:PLAINTEXT"}
        - {name: KAFKA_INTER_BROKER_LISTENER_NAME, value: INSIDE}
        - {name: KAFKA_CONTROLLER_LISTENER_NAMES, value: CONTROLLER}
        - {name: KAFKA_CONTROLLER_QUORUM_VOTERS, value: "1@localhost:9093"}
        - {name: KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR, value: "1"}
        - {name: KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR, value: "1"}
        - {name: KAFKA_TRANSACTION_STATE_LOG_MIN_ISR, value: "1"}
        - {name: KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS, value: "0"}
        - {name: KAFKA_AUTO_CREATE_TOPICS_ENABLE, value: "false"}
        - {name: KAFKA_SSL_KEYSTORE_TYPE, value: PEM}
        - {name: KAFKA_SSL_KEYSTORE_LOCATION, value: /tls/broker.pem}
        - {name: KAFKA_SASL_ENABLED_MECHANISMS, value: SCRAM-SHA-512}
        - {name: KAFKA_LISTENER_NAME_SECURED_SCRAM___SHA___512_SASL_JAAS_CONFIG, value: "org.apache.kafka.common.security.scram.ScramLoginModule required;"}
        - {name: KAFKA_LISTENER_NAME_SECURED_CONNECTIONS_MAX_REAUTH_MS, value: "%[5]d"}
        - {name: KAFKA_HEAP_OPTS, value: "-Xms512m -Xmx512m"}
        volumeMounts: [{name: tls, mountPath: /tls}]
        readinessProbe: {tcpSocket: {port: 9092}, periodSeconds: 1}
        securityContext:
          runAsNonRoot: true
          runAsUser: 1000
          allowPrivilegeEscalation: false
          capabilities: {drop: [ALL]}
          seccompProfile: {type: RuntimeDefault}
      volumes: [{name: tls, secret: {secretName: broker-tls}}]
---
apiVersion: v1
kind: Service
metadata: {name: kafka}
spec: {selector: {app: kafka}, ports: [{name: plain, port: 9092}, {name: secured, port: 9094}]}
`

// startKafka starts a broker that pods reach by its Service. This process reaches
// it by a port of this machine that kubectl forwards, which every cluster can do.
func (k *kube) startKafka(t *testing.T) {
	t.Helper()
	port, err := engine.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	namespace := k.namespace(t)
	k.namespaceOfKafka = namespace
	k.inside = "kafka." + namespace + ".svc:9092"
	k.secured = "kafka." + namespace + ".svc:9094"
	k.ca = newAuthority(t, "Authority of the cluster's Kafka")
	cert, key := k.ca.issue(t, "broker", time.Now().Add(24*time.Hour), "kafka", "kafka."+namespace+".svc")
	k.secret(t, namespace, "broker-tls", map[string]string{"broker.pem": string(key) + string(cert)})
	k.broker = &broker{addr: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), suite: shared}
	k.do(t, fmt.Sprintf(kafkaManifest, k.kafka, k.inside, k.broker.addr, k.secured, reauthenticate.Milliseconds()), "apply", "-n", namespace, "-f", "-")
	if _, err := k.try(brokerTimeout, "", "rollout", "status", "deployment/kafka", "-n", namespace, "--timeout=110s"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { // ends with the context
		defer close(ended)
		for ctx.Err() == nil { // it ends by itself when a connection breaks in certain ways
			exec.CommandContext(ctx, "kubectl", "port-forward", "-n", namespace, "deployment/kafka", strconv.Itoa(port)+":9095").Run()
		}
	}()
	t.Cleanup(func() { cancel(); <-ended })
	eventually(t, 20*time.Second, "the forwarded port of Kafka", func() bool {
		c, err := net.DialTimeout("tcp", k.broker.addr, time.Second)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
}

// manifests copies the folder deploy/kubernetes as it is, for a test to add an
// overlay of its own beside those that are there.
func manifests(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "deploy", "kubernetes")
	if err := os.CopyFS(dir, os.DirFS("../deploy/kubernetes")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// place writes a file and the folders above it.
func place(t *testing.T, name, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o777), os.WriteFile(name, []byte(text), 0o666)); err != nil {
		t.Fatal(err)
	}
}
