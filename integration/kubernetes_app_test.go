package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

// app is an application with Layover beside it, in a namespace of its own. It is
// one of the overlays as it is, but for the settings, the images, and the patches
// of a test.
type app struct {
	*fixture
	k         *kube
	namespace string
	workload  string // deployment/orders
	dir       string // of the manifests
	base      string // the overlay
	settings  map[string]string
	out       *collector
	ledger    *ledger

	mu   sync.Mutex
	seen []podEvent
}

// newApp makes the topics and the namespace, and applies nothing yet.
func (k *kube) newApp(t *testing.T, name, base, workload string) *app {
	t.Helper()
	id := fmt.Sprintf("%s-%08x", name, rand.Uint32())
	f := &fixture{T: t, broker: k.broker, ingress: id + ".delayed", egress: id + ".ready", deadLetters: id + ".dead", group: id}
	f.client = f.kafka()
	f.admin = kadm.NewClient(f.client)
	f.createTopic(f.ingress, appPartitions, nil)
	f.createTopic(f.egress, appPartitions, nil)
	f.createTopic(f.deadLetters, 1, nil)
	a := &app{fixture: f, k: k, namespace: k.namespace(t), workload: workload, dir: manifests(t), base: base, ledger: f.newLedger()}
	a.settings = map[string]string{
		"KAFKA_BROKERS": k.inside, "LAYOVER_INGRESS_TOPICS": f.ingress, "LAYOVER_EGRESS_TOPIC": f.egress,
		"LAYOVER_DLQ_TOPIC": f.deadLetters, "LAYOVER_GROUP_ID": f.group, "LAYOVER_SESSION_TIMEOUT": "6s",
	}
	a.out = f.collect(f.egress)
	a.watch()
	return a
}

const appPartitions = 4

// overlay writes a kustomization over the base, with strategic merge patches.
func (a *app) overlay(patches ...string) string {
	a.Helper()
	split := func(image string) string {
		return fmt.Sprintf("newName: %s, newTag: %q", repository(image), tag(image))
	}
	text := fmt.Sprintf("namespace: %s\nresources: [../%s]\nimages:\n- {name: layover, %s}\n- {name: busybox, %s}\nconfigMapGenerator:\n- name: layover\n  behavior: merge\n  literals:\n",
		a.namespace, a.base, split(a.k.image), split(a.k.kafka))
	for name, value := range a.settings {
		text += "  - " + name + "=" + value + "\n"
	}
	if len(patches) > 0 {
		text += "patches:\n"
	}
	for i, p := range patches {
		name := fmt.Sprintf("patch-%d.yaml", i)
		place(a.T, filepath.Join(a.dir, "overlays", "test", name), p)
		text += "- {path: " + name + ", target: {kind: Deployment|StatefulSet}}\n"
	}
	place(a.T, filepath.Join(a.dir, "overlays", "test", "kustomization.yaml"), text)
	return filepath.Join(a.dir, "overlays", "test")
}

// patch is a strategic merge patch of a pod template, in JSON or YAML's flow style.
func patch(podSpec string) string {
	return "{apiVersion: apps/v1, kind: Deployment, metadata: {name: any}, spec: {template: {spec: " + podSpec + "}}}"
}

// apply applies the overlay and does not wait.
func (a *app) apply(patches ...string) {
	a.Helper()
	a.k.do(a.T, "", "apply", "-k", a.overlay(patches...))
}

// rolledOut waits until all replicas are of the newest template and ready.
func (a *app) rolledOut() {
	a.Helper()
	if _, err := a.k.try(100*time.Second, "", "rollout", "status", a.workload, "-n", a.namespace, "--timeout=90s"); err != nil {
		a.Fatal(err)
	}
}

// kubectl runs kubectl in the namespace.
func (a *app) kubectl(args ...string) string {
	a.Helper()
	return a.k.do(a.T, "", append([]string{"-n", a.namespace}, args...)...)
}

// podEvent is a change of a pod as the API server told it.
type podEvent struct {
	Type   string // ADDED, MODIFIED or DELETED
	Object struct {
		Metadata struct {
			Name, UID         string
			DeletionTimestamp *time.Time
		}
		Spec   struct{ NodeName string }
		Status struct {
			Phase                                    string
			Conditions                               []struct{ Type, Status, Reason string }
			InitContainerStatuses, ContainerStatuses []containerStatus
		}
	}
}

type containerStatus struct {
	Name, ContainerID string
	Ready             bool
	Started           *bool
	RestartCount      int
	State, LastState  struct {
		Running    *struct{}
		Terminated *struct {
			Reason     string
			ExitCode   int
			FinishedAt time.Time
		}
	}
}

// condition returns the status of a condition, "" if there is none.
func (e podEvent) condition(kind string) string {
	for _, c := range e.Object.Status.Conditions {
		if c.Type == kind {
			return c.Status
		}
	}
	return ""
}

// container returns the status of a container, of its zero value if there is none.
func (e podEvent) container(name string) containerStatus {
	for _, c := range append(slices.Clone(e.Object.Status.InitContainerStatuses), e.Object.Status.ContainerStatuses...) {
		if c.Name == name {
			return c
		}
	}
	return containerStatus{}
}

// runs says whether a container has started by the kubelet's judgement.
func (c containerStatus) runs() bool {
	return c.State.Running != nil && c.Started != nil && *c.Started
}

// watch keeps every change of a pod until the test ends, so that a state that lasts
// a second is not missed.
func (a *app) watch() {
	a.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, "kubectl", "get", "pods", "-n", a.namespace, "--watch", "--output-watch-events", "-o", "json")
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel()
		a.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { // ends with the context
		defer close(ended)
		for d := json.NewDecoder(stdout); ; {
			var e podEvent
			if err := d.Decode(&e); err != nil {
				if err != io.EOF && ctx.Err() == nil {
					a.Errorf("watch: %v", err)
				}
				cmd.Wait()
				return
			}
			a.mu.Lock()
			a.seen = append(a.seen, e)
			a.mu.Unlock()
		}
	}()
	a.Cleanup(func() { cancel(); <-ended })
}

// mark is a point in what was seen.
func (a *app) mark() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.seen)
}

// see waits for a change from a mark on, and returns it.
func (a *app) see(from int, what string, is func(e podEvent) bool) (found podEvent) {
	a.Helper()
	eventually(a.T, time.Minute, what, func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		i := slices.IndexFunc(a.seen[from:], is)
		if i >= 0 {
			found = a.seen[from+i]
		}
		return i >= 0
	})
	return found
}

// pods returns the names of the pods that are ready now, of at least n.
func (a *app) pods(n int) []string {
	a.Helper()
	var list struct {
		Items []struct{ Metadata struct{ Name string } }
	}
	a.k.get(a.T, &list, "pods", "-n", a.namespace)
	var names []string
	for _, p := range list.Items {
		names = append(names, p.Metadata.Name)
	}
	if len(names) < n {
		a.Fatalf("pods %v, want %d", names, n)
	}
	return names
}

// signal sends a signal to the process of the sidecar from the application's
// container, for there is no shell in its own. The two have to share their process
// namespace, and they have the same user.
func (a *app) signal(pod, name string) {
	a.Helper()
	script := `for p in /proc/[0-9]*; do read name <$p/comm && [ "$name" = layover ] && kill -` + name + ` "${p#/proc/}" && exit; done; exit 1`
	a.kubectl("exec", pod, "--container=app", "--", "sh", "-c", script)
}

// deliver sends one record and waits until it comes.
func (a *app) deliver(id string) {
	a.Helper()
	a.produce(a.ledger.delayed(id, 500*time.Millisecond))
	a.arrives("the record "+id, func(r arrival) bool { return string(r.Key) == id })
}

// arrives waits for a record.
func (a *app) arrives(what string, is func(arrival) bool) {
	a.Helper()
	eventually(a.T, time.Minute, what, func() bool { return slices.ContainsFunc(a.out.all(), is) })
}

// survives sends records before, during and after what disturbs, and judges all of
// them at the end: none lost, none early, at most maxAgain again. disturb returns
// when the disturbance is over; what it has to see delivered meanwhile it asks
// for itself, by meanwhile.
func (a *app) survives(perSecond, maxAgain int, disturb func()) {
	a.Helper()
	a.deliver("before")
	s := a.stream(a.ledger, perSecond, 3*time.Second)
	a.out.await(1+perSecond, 30*time.Second)
	began := time.Now()
	disturb()
	took := time.Since(began)
	s.finish()
	a.deliver("after")
	a.out.await(a.ledger.Len(), time.Minute)
	a.out.settle()
	a.ledger.judge(a.out.all(), maxAgain)
	during := 0
	for _, r := range a.out.all() {
		if r.received.After(began) && r.received.Before(began.Add(took)) {
			during++
		}
	}
	_, late := a.ledger.lateness(a.out.all(), "stream")
	a.Logf("%d records came in the %v of the disturbance; lateness of all: %v", during, took.Round(time.Millisecond), late)
}

// meanwhile waits until a record comes that is due from now on.
func (a *app) meanwhile(what string) {
	a.Helper()
	now := time.Now()
	a.arrives("a record that is due "+what, func(r arrival) bool {
		a.ledger.mu.Lock()
		defer a.ledger.mu.Unlock()
		return a.ledger.due[string(r.Key)].After(now)
	})
}
