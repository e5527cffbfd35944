package kubernetes

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"layover/config"
	"layover/verify/long"
)

// a job of which the application does not say more than it has to.
const job = `
apiVersion: batch/v1
kind: Job
metadata: {name: nightly, labels: {layover/sidecar: enabled}}
spec:
  template:
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 30
      automountServiceAccountToken: false
      containers:
      - name: app
        image: busybox:1.37
        command: ["true"]
        resources: {limits: {memory: 64Mi}}
        securityContext: {runAsNonRoot: true, runAsUser: 65532, allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}, seccompProfile: {type: RuntimeDefault}}
`

// way is one way to get Layover into a cluster.
type way struct {
	render  func(t *testing.T) rendering
	sidecar bool
}

// ways are all that this folder has.
func ways() map[string]way {
	return map[string]way{
		"the plain example":   {func(t *testing.T) rendering { return file(t, "sidecar.yaml") }, true},
		"the sidecar overlay": {func(t *testing.T) rendering { return kustomize(t, "overlays/sidecar") }, true},
		"the StatefulSet":     {func(t *testing.T) rendering { return kustomize(t, "overlays/statefulset") }, true},
		"the secured overlay": {func(t *testing.T) rendering { return kustomize(t, "overlays/secured") }, true},
		"a Job":               {func(t *testing.T) rendering { return kustomize(t, component(t, job, "sidecar")) }, true},
		"the base":            {func(t *testing.T) rendering { return kustomize(t, "base") }, false},
		"the overlay of it":   {func(t *testing.T) rendering { return kustomize(t, "overlays/standalone") }, false},
		"the chart":           {func(t *testing.T) rendering { return helm(t, "chart/layover", minimal()...) }, false},
		"the chart with all":  {func(t *testing.T) rendering { return helm(t, "chart/layover", everything(t)...) }, false},
		"the secured chart": {func(t *testing.T) rendering {
			return helm(t, "chart/layover", "--values", "chart/secured.yaml")
		}, false},
		"a chart with ours": {func(t *testing.T) rendering { return helm(t, withDependency(t), native) }, true},
	}
}

// check is a promise that every way keeps.
type check func(t *testing.T, r rendering, sidecar bool)

func TestEveryWayKeepsThePromises(t *testing.T) {
	checks := map[string]check{
		"every container is confined and bounded":         isConfined,
		"layover is a sidecar or on its own":              isWhereItBelongs,
		"the probes and resources are what was promised":  hasItsProbes,
		"every setting is known and valid":                hasKnownSettings,
		"roll-outs take one pod more and never one less":  rollsOut,
		"no Service of ours puts variables into pods":     hasNoAddress,
		"the image is of the version that the chart's is": hasTheVersion,
		"the container is the same as that of the base":   isTheSame(t),
	}
	for name, way := range ways() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := way.render(t)
			for promise, holds := range checks {
				t.Run(promise, func(t *testing.T) { holds(t, r, way.sidecar) })
			}
		})
	}
}

func isConfined(t *testing.T, r rendering, _ bool) {
	p := r.pod(t)
	if p.AutomountServiceAccountToken == nil || *p.AutomountServiceAccountToken {
		t.Error("the pod mounts a token of its service account")
	}
	for _, c := range append(p.InitContainers, p.Containers...) {
		s := c.SecurityContext
		is := func(b *bool, want bool) bool { return b != nil && *b == want }
		if !is(s.RunAsNonRoot, true) || !is(s.AllowPrivilegeEscalation, false) || !is(s.ReadOnlyRootFilesystem, true) || s.Privileged != nil ||
			s.RunAsUser == nil || *s.RunAsUser != 65532 || s.SeccompProfile.Type != "RuntimeDefault" ||
			!slices.Equal(s.Capabilities.Drop, []string{"ALL"}) || s.Capabilities.Add != nil {
			t.Errorf("%s: security context %+v", c.Name, s)
		}
		if cpu, limited := c.Resources.Limits["cpu"]; limited || c.Resources.Limits["memory"] == "" {
			t.Errorf("%s: limits %v (cpu %q), want one of memory and none of cpu", c.Name, c.Resources.Limits, cpu)
		}
		if c.Lifecycle != nil {
			t.Errorf("%s: lifecycle %v, want none: a preStop runs beside the application's shutdown", c.Name, c.Lifecycle)
		}
		if _, tag, _ := strings.Cut(c.Image, ":"); tag == "" || tag == "latest" {
			t.Errorf("%s: the image is %q, want one with a tag that stays", c.Name, c.Image)
		}
	}
}

func isWhereItBelongs(t *testing.T, r rendering, sidecar bool) {
	p := r.pod(t)
	in, policy := p.Containers, ""
	if sidecar {
		in, policy = p.InitContainers, "Always"
	}
	if len(in) != 1 || in[0].Name != "layover" || in[0].RestartPolicy != policy {
		t.Errorf("init containers %v, containers %v", p.InitContainers, p.Containers)
	}
	// A pod of somebody else keeps its service links.
	if off := p.EnableServiceLinks != nil && !*p.EnableServiceLinks; off == sidecar {
		t.Errorf("service links are off: %v", off)
	}
}

func hasItsProbes(t *testing.T, r rendering, _ bool) {
	c := r.pod(t).layover(t)
	if len(c.Ports) != 1 || c.Ports[0].Name != "layover-http" || c.Ports[0].ContainerPort != 9846 {
		t.Errorf("ports %v", c.Ports)
	}
	for path, p := range map[string]struct {
		*probe
		period, failures int
	}{
		"/startupz": {c.StartupProbe, 1, 30}, "/livez": {c.LivenessProbe, 10, 6}, "/readyz": {c.ReadinessProbe, 5, 3},
	} {
		if p.probe == nil || p.HTTPGet.Path != path || p.HTTPGet.Port != "layover-http" || p.PeriodSeconds != p.period || p.FailureThreshold != p.failures {
			t.Errorf("%s: %+v", path, p.probe)
		}
	}
	want := map[string]string{"cpu": "25m", "memory": "64Mi"}
	if !reflect.DeepEqual(c.Resources.Requests, want) {
		t.Errorf("requests %v, want %v", c.Resources.Requests, want)
	}
}

// environment is what a container gets, by the objects that are rendered with it.
func (r rendering) environment(t *testing.T, c container) map[string]string {
	t.Helper()
	env := make(map[string]string)
	for _, from := range c.EnvFrom {
		found := false
		for _, m := range r.of("ConfigMap") {
			if m.Metadata.Name == from.ConfigMapRef.Name {
				found = true
				for k, v := range m.Data {
					env[k] = v
				}
			}
		}
		if !found {
			t.Errorf("there is no ConfigMap %s", from.ConfigMapRef.Name)
		}
	}
	for _, e := range c.Env {
		env[e.Name] = e.Value
		if e.ValueFrom != nil {
			env[e.Name] = "something"
		}
	}
	return env
}

func hasKnownSettings(t *testing.T, r rendering, _ bool) {
	env := r.environment(t, r.pod(t).layover(t))
	mounted := mountedSecret(t)
	var environ []string
	for name, value := range env {
		if !slices.Contains(config.Known(), strings.TrimSuffix(name, "_FILE")) {
			t.Errorf("%s is no setting", name)
		}
		environ = append(environ, name+"="+strings.Replace(value, secretPath, mounted, 1))
	}
	cfg, warnings, err := config.Load(environ)
	if err != nil || len(warnings) > 0 {
		t.Fatalf("%v, warnings %q", err, warnings)
	}
	// With GOMEMLIMIT in the environment the setting would not count.
	if limit, set := env["GOMEMLIMIT"]; set || env["LAYOVER_GOMEMLIMIT"] != "auto" {
		t.Errorf("LAYOVER_GOMEMLIMIT is %q, GOMEMLIMIT %q; want auto and none", env["LAYOVER_GOMEMLIMIT"], limit)
	}
	graceIsEnough(t, r, cfg.ShutdownTimeout)
}

// graceIsEnough checks that a stop fits into the grace period, with two seconds for
// the kubelet: 30 s are the default.
func graceIsEnough(t *testing.T, r rendering, stop time.Duration) {
	t.Helper()
	grace := 30
	if g := r.pod(t).TerminationGracePeriodSeconds; g != nil {
		grace = *g
	}
	if time.Duration(grace)*time.Second < stop+2*time.Second {
		t.Errorf("the grace period of %d s ends a stop of %v", grace, stop)
	}
}

func rollsOut(t *testing.T, r rendering, _ bool) {
	for _, d := range r.of("Deployment") {
		u := d.Spec.Strategy.RollingUpdate
		if u.MaxSurge != 1.0 || u.MaxUnavailable != 0.0 {
			t.Errorf("maxSurge %v, maxUnavailable %v, want 1 and 0", u.MaxSurge, u.MaxUnavailable)
		}
	}
}

func hasNoAddress(t *testing.T, r rendering, sidecar bool) {
	services := r.of("Service")
	if sidecar == (len(services) == 1) {
		t.Errorf("%d Services", len(services))
	}
	for _, s := range services {
		if s.Spec.ClusterIP != "None" {
			t.Errorf("Service %s has an address", s.Metadata.Name)
		}
	}
}

func hasTheVersion(t *testing.T, r rendering, _ bool) {
	chart, err := os.ReadFile("chart/layover/Chart.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, app, _ := strings.Cut(string(chart), "\nappVersion: ")
	version := strings.Trim(strings.TrimSpace(app), `"`)
	if image := r.pod(t).layover(t).Image; version == "" || image != "layover:"+version {
		t.Errorf("the image is %s, the chart's appVersion %q", image, version)
	}
}

func isTheSame(t *testing.T) check {
	want := kustomize(t, "base").pod(t).layover(t)
	return func(t *testing.T, r rendering, _ bool) {
		got := r.pod(t).layover(t)
		// What differs on purpose: where it is, and how settings come in.
		got.RestartPolicy, got.ImagePullPolicy, got.Env, got.EnvFrom, got.VolumeMounts = want.RestartPolicy, want.ImagePullPolicy, want.Env, want.EnvFrom, nil
		if !reflect.DeepEqual(got, want) {
			t.Errorf("it is\n%+v\nand that of the base\n%+v", got, want)
		}
	}
}

func TestThePlainExampleIsWhatTheOverlayMakes(t *testing.T) {
	plain, overlay := file(t, "sidecar.yaml"), kustomize(t, "overlays/sidecar")
	if len(plain) != 2 || len(overlay) != 2 {
		t.Fatalf("%d and %d objects, want a ConfigMap and a Deployment", len(plain), len(overlay))
	}
	hashed := overlay.of("ConfigMap")[0].Metadata.Name
	for i, want := range overlay {
		// kustomize adds a hash to the ConfigMap's name, and to what refers to it.
		wanted, err1 := json.MarshalIndent(want.text, "", " ")
		got, err2 := json.MarshalIndent(plain[i].text, "", " ")
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		if wanted := strings.ReplaceAll(string(wanted), hashed, "layover"); string(got) != wanted {
			t.Errorf("the plain example has\n%s\nand the overlay makes\n%s", got, wanted)
		}
	}
}

func TestTheComponentAddsToWhatIsLabelledAndSparesTheRest(t *testing.T) {
	long.Only(t)
	const resources = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {layover/sidecar: enabled}}
spec: {template: {spec: {initContainers: [{name: migrate, image: "m:1"}], containers: [{name: app, image: "a:1"}, {name: proxy, image: "p:1"}]}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: worker, labels: {layover/sidecar: enabled}}
spec: {template: {spec: {containers: [{name: app, image: "a:1"}]}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: unlabelled}
spec: {template: {spec: {containers: [{name: app, image: "a:1"}]}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: off, labels: {layover/sidecar: none}}
spec: {template: {spec: {containers: [{name: app, image: "a:1"}]}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: pods-alone}
spec: {template: {metadata: {labels: {layover/sidecar: enabled}}, spec: {containers: [{name: app, image: "a:1"}]}}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: bare}
spec: {template: {spec: {containers: [{name: app, image: "a:1"}]}}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: ledger, labels: {layover/sidecar: enabled}}
spec: {template: {spec: {containers: [{name: app, image: "a:1"}]}}}
`
	want := map[string]string{"web": "layover migrate app proxy", "worker": "layover app", "ledger": "layover app",
		"unlabelled": "app", "off": "app", "pods-alone": "app", "bare": "app"}
	order := []string{"sidecar", "https", "kafka-secret", "without-readiness"}
	for n := 1; n <= len(order); n++ {
		got := make(map[string]string)
		for _, w := range kustomize(t, component(t, resources, order[:n]...)).workloads() {
			var names []string
			for _, c := range append(w.Spec.Template.Spec.InitContainers, w.Spec.Template.Spec.Containers...) {
				names = append(names, c.Name)
				if c.Name == "layover" && (c.ReadinessProbe != nil) != (n < len(order)) {
					t.Errorf("%s with %v: readiness probe %v", w.Metadata.Name, order[:n], c.ReadinessProbe)
				}
				if c.Name == "layover" && slices.ContainsFunc(c.Env, isInstance) != (w.Kind == "StatefulSet") {
					t.Errorf("%s %s: env %v", w.Kind, w.Metadata.Name, c.Env)
				}
			}
			got[w.Metadata.Name] = strings.Join(names, " ")
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("with %v: containers %v, want %v", order[:n], got, want)
		}
	}
}

func isInstance(e struct {
	Name, Value string
	ValueFrom   map[string]any
}) bool {
	field, _ := e.ValueFrom["fieldRef"].(map[string]any)
	return e.Name == "LAYOVER_GROUP_INSTANCE_ID" && field["fieldPath"] == "metadata.name"
}

func TestNewSettingsAreRolledOut(t *testing.T) {
	chart := func(lanes int) any {
		r := helm(t, "chart/layover", minimal("--set", "settings.LAYOVER_LANES="+strconv.Itoa(lanes))...)
		return r.workloads()[0].Spec.Template.Metadata.Annotations
	}
	if reflect.DeepEqual(chart(1), chart(2)) || !reflect.DeepEqual(chart(1), chart(1)) {
		t.Errorf("the pods' annotations are %v with one lane, %v with two", chart(1), chart(2))
	}
	overlay := func(dir string) string { return kustomize(t, dir).pod(t).layover(t).EnvFrom[0].ConfigMapRef.Name }
	if base, other := overlay("base"), overlay("overlays/standalone"); base == other || !strings.HasPrefix(base, "layover-") {
		t.Errorf("ConfigMap %s with some settings, %s with others", base, other)
	}
}

func TestEverySettingThatIsWrittenAboutExists(t *testing.T) {
	// What Services called layover and kafka set.
	links := []string{"LAYOVER_PORT", "KAFKA_PORT"}
	known := slices.Concat(links, config.Known())
	name := regexp.MustCompile(`\b(LAYOVER|KAFKA|AWS)_[A-Z][A-Z0-9_]*[A-Z]`)
	found := 0
	look := func(path string, _ fs.DirEntry, err error) error {
		b, _ := os.ReadFile(path)
		if strings.HasSuffix(path, "_test.go") {
			return err
		}
		for _, setting := range name.FindAllString(string(b), -1) {
			found++
			// Each has a twin that names a file with the value.
			if !slices.Contains(known, strings.TrimSuffix(setting, "_FILE")) {
				t.Errorf("%s: %s is no setting", path, setting)
			}
		}
		return err
	}
	if err := errors.Join(filepath.WalkDir(".", look), filepath.WalkDir("../../docs/kubernetes.md", look)); err != nil || found < 50 {
		t.Fatalf("%d settings, %v", found, err)
	}
}
