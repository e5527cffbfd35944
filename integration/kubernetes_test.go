package integration

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"layover/verify"

	"github.com/twmb/franz-go/pkg/kgo"
)

// sidecar is the overlay that most of the tests are about, two replicas of it.
const (
	sidecarOverlay    = "sidecar"
	sidecarDeployment = "deployment/orders"
)

// again bounds the records that may come again when Layover is killed at these
// rates. Those are records that finished since the last commit, and records in
// flight. The last commit is at most an interval of a second and the time that a
// commit takes ago. The records in flight are here no more than become due in a
// second. A graceful stop repeats nothing.
func again(perSecond int) int { return 3 * perSecond }

// TestOnACluster applies the manifests of deploy/kubernetes to the cluster that
// KUBECONFIG names and judges, by records that are due meanwhile, what they promise.
// It takes two to three minutes and leaves nothing behind but images.
//
//	LAYOVER_TEST_LOAD_IMAGE   the command that copies an image of this machine's engine
//	                          to the nodes, such as "kind load docker-image"; the image's
//	                          name is added as its last argument
//	LAYOVER_TEST_IMAGE        instead of it: an image of Layover, name:tag, that the nodes
//	                          have or can pull, with Kafka's
//
// One of the two has to be set, so that nobody's node is drained by accident. It is
// skipped without, and where kubectl, helm or an answer of the cluster is missing.
// The clocks of the nodes and of this machine have to agree.
func TestOnACluster(t *testing.T) {
	long(t)
	k := need(t, findCluster)
	k.prepare(t)
	// First what disturbs the others: a node that takes no pods.
	t.Run("a drain of the node", k.drain)
	t.Run("all at once", func(t *testing.T) {
		for name, test := range map[string]func(*testing.T){
			"every command of the document":                        k.document,
			"every rendering is admitted":                          k.admits,
			"a roll-out":                                           k.rollOut,
			"a kill of the sidecar":                                k.kill,
			"an OOM kill of the sidecar":                           k.outOfMemory,
			"two seconds from SIGTERM to SIGKILL":                  k.twoSeconds,
			"without Kafka and among Services called as we are":    k.withoutKafka,
			"a Job is complete when the application is":            k.job,
			"a pod of a StatefulSet comes back as the same member": k.statefulSet,
			"the chart's own test passes and fails":                k.helmTest,
			"a Secret that a sidecar mounts changes":               k.secretOfASidecar,
			"a Secret that the chart mounts changes":               k.secretOfTheChart,
			"a Secret that is a service binding changes":           k.secretOfABinding,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t)
			})
		}
	})
}

func (k *kube) rollOut(t *testing.T) {
	a := k.newApp(t, "rollout", sidecarOverlay, sidecarDeployment)
	a.apply()
	a.rolledOut()
	a.survives(50, 0, func() {
		from := a.mark()
		a.kubectl("rollout", "restart", sidecarDeployment)
		a.see(from, "an old pod that ends", func(e podEvent) bool { return e.Object.Metadata.DeletionTimestamp != nil })
		a.meanwhile("during the roll-out")
		a.see(from, "an application that ended, and then its sidecar, with 0", func(e podEvent) bool {
			app, layover := e.container("app").State.Terminated, e.container("layover").State.Terminated
			return app != nil && layover != nil && layover.ExitCode == 0 && !layover.FinishedAt.Before(app.FinishedAt)
		})
		a.rolledOut()
	})
}

func (k *kube) kill(t *testing.T) {
	a := k.newApp(t, "kill", sidecarOverlay, sidecarDeployment)
	a.apply(patch("{shareProcessNamespace: true}"))
	a.rolledOut()
	victim := a.pods(2)[0]
	is := func(e podEvent) bool { return e.Object.Metadata.Name == victim }
	before := a.see(0, "the pod is ready", func(e podEvent) bool { return is(e) && e.condition("Ready") == "True" })
	a.survives(50, again(50), func() {
		from := a.mark()
		a.signal(victim, "KILL")
		a.see(from, "the pod is not ready", func(e podEvent) bool { return is(e) && e.condition("Ready") == "False" })
		a.meanwhile("after the kill")
		after := a.see(from, "the pod is ready again", func(e podEvent) bool {
			return is(e) && e.condition("Ready") == "True" && e.container("layover").RestartCount == 1
		})
		if end := after.container("layover").LastState.Terminated; end == nil || end.ExitCode != 137 {
			t.Errorf("the sidecar ended by %+v, want 137", end)
		}
		was, now := before.container("app"), after.container("app")
		if now.RestartCount != 0 || now.ContainerID != was.ContainerID || !now.runs() {
			t.Errorf("the application was %+v and is %+v after the sidecar's end", was, now)
		}
	})
	a.operating(victim)
}

// operating runs what docs/operating.md asks Kubernetes, about a pod whose sidecar was
// killed.
func (a *app) operating(pod string) {
	text, err := os.ReadFile("../docs/operating.md")
	if err != nil {
		a.Fatal(err)
	}
	said := ""
	for line := range strings.Lines(string(text)) {
		if command, is := strings.CutPrefix(line, "    kubectl "); is {
			said += a.kubectl(strings.Fields(strings.ReplaceAll(command, "my-pod", pod))...)
		}
	}
	if !strings.Contains(said, pod) || !strings.Contains(said, "layover starts") {
		a.Errorf("no pod %s, or nothing that its sidecar said before it was killed:\n%s", pod, said)
	}
}

func (k *kube) outOfMemory(t *testing.T) {
	const flood, ballast = 100, 800_000
	a := k.newApp(t, "oom", sidecarOverlay, sidecarDeployment)
	a.settings["LAYOVER_MAX_PARKED_BYTES"] = "1Gi"
	a.apply(patch(`{initContainers: [{name: layover, resources: {requests: {memory: 48Mi}, limits: {memory: 48Mi}}, env: [{name: LAYOVER_GOMEMLIMIT, value: "off"}]}]}`))
	a.rolledOut()
	a.survives(20, again(20)+flood, func() {
		from := a.mark()
		due := time.Now().Add(20 * time.Second).Truncate(time.Millisecond)
		var records []*kgo.Record
		for i := range flood {
			records = append(records, a.ledger.at(fmt.Sprintf("flood-%d", i), due, verify.Header{Name: "ballast", Value: make([]byte, ballast)}))
		}
		// All of it into one partition, so that only one of the two gets it.
		a.produceWith(a.kafka(kgo.RecordPartitioner(kgo.ManualPartitioner())), records...)
		e := a.see(from, "an OOM kill", func(e podEvent) bool {
			c := e.container("layover")
			return oomKilled(c.State.Terminated) || oomKilled(c.LastState.Terminated)
		})
		if e.container("app").RestartCount != 0 {
			t.Errorf("the application was restarted: %+v", e.container("app"))
		}
		a.meanwhile("after the OOM kill")
		// What an operator does: more memory.
		a.settings["LAYOVER_MAX_PARKED_BYTES"] = "256Mi"
		a.apply(patch(`{initContainers: [{name: layover, resources: {limits: {memory: 512Mi}}}]}`))
		a.rolledOut()
	})
}

func oomKilled(end *struct {
	Reason     string
	ExitCode   int
	FinishedAt time.Time
}) bool {
	return end != nil && end.Reason == "OOMKilled"
}

// drain drains the node of a pod, of an application that has a disruption budget.
// The second pod is evicted when the first one is ready elsewhere, or here again.
func (k *kube) drain(t *testing.T) {
	a := k.newApp(t, "drain", sidecarOverlay, sidecarDeployment)
	k.do(t, `{"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "orders"},
		"spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app.kubernetes.io/name": "orders"}}}}`, "create", "-n", a.namespace, "-f", "-")
	a.apply()
	a.rolledOut()
	node := a.see(0, "the node of a pod", func(e podEvent) bool { return e.Object.Spec.NodeName != "" }).Object.Spec.NodeName
	a.survives(50, 0, func() {
		from := a.mark()
		t.Cleanup(func() { k.try(time.Minute, "", "uncordon", node) })
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		drained := make(chan error, 1)
		go func() { // ends with the context
			_, err := output(exec.CommandContext(ctx, "kubectl", "drain", node, "--ignore-daemonsets", "--delete-emptydir-data",
				"--pod-selector=app.kubernetes.io/name=orders", "--timeout=110s"), "")
			drained <- err
		}()
		a.see(from, "an evicted pod is gone", func(e podEvent) bool { return e.Type == "DELETED" })
		a.meanwhile("during the drain")
		a.kubectl("uncordon", node)
		if err := <-drained; err != nil {
			t.Fatal(err)
		}
		a.rolledOut()
	})
}

// twoSeconds has an application that does not end by SIGTERM. The sidecar gets its
// own SIGTERM when the grace period is used up, as the application gets its SIGKILL,
// and SIGKILL two seconds later. One of the sidecars is frozen when that begins, so
// that all it sees is the SIGKILL.
func (k *kube) twoSeconds(t *testing.T) {
	a := k.newApp(t, "grace", sidecarOverlay, sidecarDeployment)
	a.apply(patch(`{shareProcessNamespace: true, terminationGracePeriodSeconds: 3,
		containers: [{name: app, command: [sh, -c, "trap '' TERM; while :; do sleep 1; done"]}]}`))
	a.rolledOut()
	a.survives(500, again(500), func() {
		from := a.mark()
		victims := a.pods(2)
		a.signal(victims[0], "STOP")
		a.kubectl(append([]string{"delete", "pod", "--wait=false"}, victims...)...)
		for i, victim := range victims {
			e := a.see(from, "the end of "+victim, func(e podEvent) bool {
				return e.Object.Metadata.Name == victim && e.container("app").State.Terminated != nil && e.container("layover").State.Terminated != nil
			})
			app, layover := e.container("app").State.Terminated, e.container("layover").State.Terminated
			if app.ExitCode != 137 {
				t.Errorf("the application ended with %d, want to see it killed", app.ExitCode)
			}
			if layover.FinishedAt.Before(app.FinishedAt.Add(-2 * time.Second)) { // both are signalled at once, and these are whole seconds
				t.Errorf("the sidecar ended at %v, long before the application did at %v", layover.FinishedAt, app.FinishedAt)
			}
			if i == 0 && layover.ExitCode != 137 {
				t.Errorf("the frozen sidecar ended with %d, want to see it killed", layover.ExitCode)
			}
			t.Logf("the sidecar ended with %d, about %v after the application", layover.ExitCode, layover.FinishedAt.Sub(app.FinishedAt))
		}
		a.rolledOut()
	})
}
