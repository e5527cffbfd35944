package integration

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// services are called as our variables begin, so that every pod of the namespace
// gets LAYOVER_PORT and KAFKA_PORT and more of the kind. Nobody answers there.
const services = `
apiVersion: v1
kind: Service
metadata: {name: layover}
spec: {selector: {app: none}, ports: [{name: http, port: 8081}]}
---
apiVersion: v1
kind: Service
metadata: {name: kafka}
spec: {selector: {app: none}, ports: [{port: 9092}]}
`

func (k *kube) withoutKafka(t *testing.T) {
	a := k.newApp(t, "facts", sidecarOverlay, sidecarDeployment)
	a.k.do(t, services, "create", "-n", a.namespace, "-f", "-")
	a.settings["KAFKA_BROKERS"] = "kafka:9092"
	a.apply()
	a.see(0, "an application that runs beside a sidecar that is not ready", func(e podEvent) bool {
		return e.container("app").runs() && e.container("layover").runs() && !e.container("layover").Ready && e.condition("Ready") == "False"
	})
	a.rolledOut() // ready after ten seconds without Kafka, degraded

	pod := a.pods(2)[0]
	// That the variables are there at all is what makes the rest worth looking at.
	env := a.kubectl("exec", pod, "--container=app", "--", "env")
	for _, want := range []string{"LAYOVER_PORT=tcp://", "LAYOVER_SERVICE_PORT_HTTP=8081", "LAYOVER_PORT_8081_TCP_ADDR=", "KAFKA_PORT=tcp://"} {
		if !strings.Contains(env, want) {
			t.Errorf("the pod's environment has no %s:\n%s", want, env)
		}
	}
	limit := 0.0
	for line := range strings.Lines(a.kubectl("logs", pod, "--container=layover")) {
		var entry struct {
			Level, Msg string
			Limit      any `json:"gomemlimit"`
		}
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Errorf("%v in the log: %s", err, line)
		}
		if strings.Contains(line, "unknown variable") {
			t.Errorf("the log complains of a variable: %s", line)
		}
		if entry.Msg == "layover starts" {
			limit, _ = entry.Limit.(float64)
		}
	}
	if want := 256<<20 - 256<<20/10; int(limit) != want {
		t.Errorf("GOMEMLIMIT is %v, want %d: 90 %% of the container's limit", limit, want)
	}
}

const nightly = `
apiVersion: batch/v1
kind: Job
metadata: {name: nightly, labels: {layover/sidecar: enabled}}
spec:
  backoffLimit: 0
  template:
    metadata: {labels: {app.kubernetes.io/name: nightly}}
    spec:
      restartPolicy: Never
      automountServiceAccountToken: false
      containers:
      - name: app
        image: busybox:1.37
        command: [sh, -c, "sleep 2"]
        securityContext: {runAsNonRoot: true, runAsUser: 65532, allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}, seccompProfile: {type: RuntimeDefault}}
`

func (k *kube) job(t *testing.T) {
	a := k.newApp(t, "job", "nightly", "job/nightly")
	dir := filepath.Join(a.dir, "overlays", "nightly")
	place(t, filepath.Join(dir, "kustomization.yaml"), "resources: [job.yaml]\ncomponents: [../../components/sidecar]\nconfigMapGenerator: [{name: layover, literals: [LAYOVER_LOG_LEVEL=info]}]\n")
	place(t, filepath.Join(dir, "job.yaml"), nightly)
	a.apply()
	a.see(0, "the sidecar runs", func(e podEvent) bool { return e.container("layover").runs() })
	a.kubectl("wait", "--for=condition=Complete", "job/nightly", "--timeout=50s")
	end := a.see(0, "the sidecar ends", func(e podEvent) bool { return e.container("layover").State.Terminated != nil })
	if code := end.container("layover").State.Terminated.ExitCode; code != 0 {
		t.Errorf("the sidecar ended with %d, want 0", code)
	}
}

func (k *kube) statefulSet(t *testing.T) {
	a := k.newApp(t, "static", "statefulset", "statefulset/ledger")
	a.settings["LAYOVER_SESSION_TIMEOUT"] = "30s"
	a.apply()
	a.rolledOut()
	var before map[string]string
	eventually(t, 30*time.Second, "a member for each pod, by its name", func() bool { // the second gets what the first gives up
		before = a.members()
		return len(before) == 2 && before["ledger-0"] != "" && before["ledger-1"] != ""
	})
	a.survives(50, 0, func() {
		from := a.mark()
		a.kubectl("delete", "pod", "ledger-0", "--wait=false")
		a.see(from, "ledger-0 is gone", func(e podEvent) bool { return e.Type == "DELETED" && e.Object.Metadata.Name == "ledger-0" })
		a.rolledOut()
	})
	for pod, partitions := range a.members() {
		if before[pod] != partitions {
			t.Errorf("%s had the partitions %s and has %s", pod, before[pod], partitions)
		}
	}
}

// members returns the partitions of each static member of the group.
func (a *app) members() map[string]string {
	a.Helper()
	groups, err := a.admin.DescribeGroups(a.Context(), a.group)
	if err != nil {
		a.Fatal(err)
	}
	partitions := make(map[string]string)
	for _, m := range groups[a.group].Members {
		if m.InstanceID == nil {
			continue
		}
		if assigned, ok := m.Assigned.AsConsumer(); ok {
			for _, topic := range assigned.Topics {
				raw, _ := json.Marshal(topic.Partitions)
				partitions[*m.InstanceID] += string(raw)
			}
		}
	}
	return partitions
}

// admits sends every rendering to the API server, which validates it and admits it
// to a restricted namespace, and keeps nothing.
func (k *kube) admits(t *testing.T) {
	namespace, dir := k.namespace(t), manifests(t)
	place(t, filepath.Join(dir, "job", "kustomization.yaml"), "resources: [job.yaml]\ncomponents: [../components/sidecar]\n")
	place(t, filepath.Join(dir, "job", "job.yaml"), nightly)
	render := func(program string, args ...string) string {
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Dir = dir
		out, err := output(cmd, "")
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	render("helm", "dependency", "update", "chart/orders")
	renderings := map[string]string{
		"the plain example":      render("cat", "sidecar.yaml"),
		"a chart with a sidecar": render("helm", "template", "release", "chart/orders", "--kube-version=1.29.0"),
		"a secured chart with a sidecar": render("helm", "template", "release", "chart/orders", "--kube-version=1.29.0", "--set",
			"layover.extraVolumes[0].name=kafka,layover.extraVolumes[0].secret.secretName=layover-kafka,layover.extraVolumeMounts[0].name=kafka,layover.extraVolumeMounts[0].mountPath=/run/secrets/kafka"),
		"the secured chart": render("helm", "template", "release", "chart/layover", "--skip-tests", "--values", "chart/secured.yaml"),
		// Without the pod of helm test, whose service account has to be there: helmTest has it.
		"the chart": render("helm", "template", "release", "chart/layover", "--skip-tests",
			"--set", "settings.KAFKA_BROKERS=kafka:9092,settings.LAYOVER_INGRESS_TOPICS=delayed,dashboard.enabled=true,networkPolicy.enabled=true,networkPolicy.from[0].podSelector.matchLabels.a=b,networkPolicy.extraEgress[0].to[0].ipBlock.cidr=203.0.113.7/32,networkPolicy.extraEgress[0].ports[0].port=443"),
	}
	for _, d := range []string{"base", "overlays/sidecar", "overlays/secured", "overlays/standalone", "overlays/statefulset", "job"} {
		renderings[d] = render("kubectl", "kustomize", d)
	}
	notes := render("helm", "install", "release", "chart/layover", "-n", namespace, "--dry-run=server",
		"--set", "settings.KAFKA_BROKERS=kafka:9092,settings.LAYOVER_INGRESS_TOPICS=delayed,podMonitor.enabled=true")
	has := strings.Contains(render("kubectl", "api-versions"), "monitoring.coreos.com/v1\n")
	if strings.Contains(notes, "that were asked for are left out") == has {
		t.Errorf("the cluster has resources for monitoring: %v, and the notes say\n%s", has, notes)
	}
	admit := func(text string) error {
		_, err := k.try(time.Minute, text, "apply", "--dry-run=server", "-n", namespace, "-f", "-")
		return err
	}
	for name, text := range renderings {
		if err := admit(text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The judge has to be one: what is wrong is refused.
	for _, wrong := range []struct{ old, new, want string }{
		{"restartPolicy: Always", "restartPolcy: Always", `unknown field "spec.template.spec.initContainers[0].restartPolcy"`},
		{"drop:\n            - ALL", "drop: []", "unrestricted capabilities"},
	} {
		text := strings.Replace(renderings["overlays/sidecar"], wrong.old, wrong.new, 1)
		if err := admit(text); err == nil || !strings.Contains(err.Error(), wrong.want) {
			t.Errorf("with %q: error %v, want one with %q", wrong.new, err, wrong.want)
		}
	}
}
