package kubernetes

import (
	"encoding/pem"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"layover/verify/long"
)

// secretPath is where the Secret of a secured Kafka is mounted.
const secretPath = "/run/secrets/kafka"

// mountedSecret returns a folder with the files of that Secret.
func mountedSecret(t *testing.T) string {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	server.StartTLS()
	defer server.Close()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "ca.crt"), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	write(t, filepath.Join(dir, "password"), "open sesame\n")
	return dir
}

// mounts checks that Layover's container alone mounts the Secret, and that the pod waits
// for it.
func (p pod) mounts(t *testing.T) {
	t.Helper()
	found := 0
	for _, v := range p.Volumes {
		if v.Name == "layover-kafka" && v.Secret.SecretName == "layover-kafka" && !v.Secret.Optional {
			found++
		}
	}
	if found != 1 {
		t.Errorf("volumes %+v, want that of the Secret once", p.Volumes)
	}
	for _, c := range append(p.InitContainers, p.Containers...) {
		found := 0
		for _, m := range c.VolumeMounts {
			if m.Name == "layover-kafka" && m.MountPath == secretPath && m.ReadOnly && m.SubPath == "" {
				found++
			}
		}
		if (found == 1) != (c.Name == "layover") {
			t.Errorf("the container %s has the mounts %+v", c.Name, c.VolumeMounts)
		}
	}
}

// ownVolumes has a volume already, and a workload without the label, to be spared.
const ownVolumes = `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: ledger, labels: {layover/sidecar: enabled}}
spec: {template: {spec: {volumes: [{name: data, emptyDir: {}}], containers: [{name: app, image: "a:1", volumeMounts: [{name: data, mountPath: /data}]}]}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: spared}
spec: {template: {spec: {containers: [{name: layover, image: "a:1"}]}}}
`

func TestTheSecretIsMountedInEveryForm(t *testing.T) {
	long.InChecks(t)
	const base = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: layover, labels: {app.kubernetes.io/name: layover}}
spec: {template: {spec: {containers: [{name: layover, image: "l:1"}]}}}
`
	values := filepath.Join(t.TempDir(), "values.yaml")
	write(t, values, "layover:\n  "+strings.ReplaceAll(read(t, "chart/secured.yaml"), "\n", "\n  "))
	for name, r := range map[string]rendering{
		"the overlay":         kustomize(t, "overlays/secured"),
		"a base":              kustomize(t, component(t, base, "kafka-secret")),
		"a Job":               kustomize(t, component(t, job, "sidecar", "kafka-secret")),
		"the chart":           helm(t, "chart/layover", "--values", "chart/secured.yaml"),
		"a chart with ours":   helm(t, withDependency(t), native, "--values", values),
		"a volume of its own": kustomize(t, component(t, ownVolumes, "sidecar", "kafka-secret")).of("StatefulSet"),
	} {
		t.Run(name, func(t *testing.T) { r.pod(t).mounts(t) })
	}
	for _, w := range kustomize(t, component(t, ownVolumes, "sidecar", "kafka-secret")).workloads() {
		p := w.Spec.Template.Spec
		if spared := w.Metadata.Name == "spared"; spared && len(p.Volumes) != 0 || !spared && (len(p.Volumes) != 2 || p.Containers[0].VolumeMounts[0].MountPath != "/data") {
			t.Errorf("%s: %+v", w.Metadata.Name, p)
		}
	}
}

func TestAChartWithoutVolumesMakesNone(t *testing.T) {
	for name, r := range map[string]rendering{
		"standalone": helm(t, "chart/layover", minimal()...), "sidecar": helm(t, withDependency(t), native),
	} {
		if p := r.pod(t); len(p.Volumes)+len(p.layover(t).VolumeMounts) != 0 {
			t.Errorf("%s: volumes %+v", name, p.Volumes)
		}
	}
}

// A binding or a file stands in for a setting that has to be there.
func TestTheBrokersMayComeFromABindingOrAFile(t *testing.T) {
	for _, set := range []string{"settings.SERVICE_BINDING_ROOT=/bindings", "settings.KAFKA_BROKERS_FILE=/brokers"} {
		helm(t, "chart/layover", "--set", "settings.LAYOVER_INGRESS_TOPICS_FILE=/topics,"+set)
		refused(t, "LAYOVER_INGRESS_TOPICS is not set", "chart/layover", "--set", set)
	}
}

// The YAML of the section about a secured Kafka is that of the files beside this one. The
// files of that YAML are in the Secret that the section makes.
func TestTheDocumentHasTheYAMLOfASecuredKafka(t *testing.T) {
	_, section, _ := strings.Cut(read(t, "../../docs/kubernetes.md"), "\n## A secured Kafka\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, name := range []string{"overlays/secured/kustomization.yaml", "overlays/secured/settings.env", "chart/secured.yaml"} {
		var lines []string
		for line := range strings.Lines(read(t, name)) {
			if !strings.HasPrefix(line, "#") {
				lines = append(lines, line)
			}
		}
		if text := strings.Join(lines, ""); !strings.Contains(section, "\n"+text) {
			t.Errorf("the section does not have %s:\n%s", name, text)
		}
	}
	files, err := filepath.Glob(filepath.Join(mountedSecret(t), "*"))
	for _, name := range files {
		if argument := "--from-file=" + filepath.Base(name); !strings.Contains(section, argument) {
			t.Errorf("no %s in the section", argument)
		}
	}
	if err != nil || len(files) != 2 {
		t.Fatal(files, err)
	}
}
