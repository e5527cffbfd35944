// Package kubernetes holds no code, only the tests of the manifests beside it. They
// show that kubectl and helm render the manifests, and that the result is what the
// manifests promise. Nothing here needs a cluster; ../../integration applies the same
// renderings to one.
//
// A test is skipped where the program that renders is missing.
package kubernetes

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// object is what the tests look at of any object. A pod template is where a
// Deployment, a StatefulSet and a Job have it.
type object struct {
	Kind     string
	Metadata struct {
		Name, Namespace     string
		Labels, Annotations map[string]string
	}
	Data map[string]string
	Spec struct {
		Replicas  *int
		ClusterIP string
		Strategy  struct {
			RollingUpdate struct{ MaxSurge, MaxUnavailable any }
		}
		Template *struct {
			Metadata struct{ Annotations map[string]string }
			Spec     pod
		}
		Groups []any
	}
	text map[string]any // all of it
}

type pod struct {
	AutomountServiceAccountToken  *bool
	EnableServiceLinks            *bool
	TerminationGracePeriodSeconds *int
	InitContainers, Containers    []container
	Volumes                       []struct {
		Name   string
		Secret struct {
			SecretName string
			Optional   bool
		}
	}
}

type container struct {
	Name, Image, ImagePullPolicy, RestartPolicy string
	Args                                        []string
	Env                                         []struct {
		Name, Value string
		ValueFrom   map[string]any
	}
	EnvFrom      []struct{ ConfigMapRef, SecretRef struct{ Name string } }
	VolumeMounts []struct {
		Name, MountPath, SubPath string
		ReadOnly                 bool
	}
	Ports []struct {
		Name          string
		ContainerPort int
	}
	StartupProbe, LivenessProbe, ReadinessProbe *probe
	Lifecycle                                   map[string]any
	Resources                                   struct{ Requests, Limits map[string]string }
	SecurityContext                             struct {
		RunAsNonRoot, AllowPrivilegeEscalation, ReadOnlyRootFilesystem, Privileged *bool
		RunAsUser                                                                  *int
		Capabilities                                                               struct{ Add, Drop []string }
		SeccompProfile                                                             struct{ Type string }
	}
}

type probe struct {
	HTTPGet                                         struct{ Path, Port, Scheme string }
	PeriodSeconds, FailureThreshold, TimeoutSeconds int
}

// rendering is all objects that one command makes.
type rendering []object

// of returns the objects of a kind.
func (r rendering) of(kind string) rendering {
	return slices.DeleteFunc(slices.Clone(r), func(o object) bool { return o.Kind != kind })
}

// workloads returns the objects with a pod template.
func (r rendering) workloads() rendering {
	return slices.DeleteFunc(slices.Clone(r), func(o object) bool { return o.Spec.Template == nil })
}

// pod returns the pod of the one workload.
func (r rendering) pod(t *testing.T) pod {
	t.Helper()
	w := r.workloads()
	if len(w) != 1 {
		t.Fatalf("%d workloads, want 1", len(w))
	}
	return w[0].Spec.Template.Spec
}

// layover returns Layover's container, which a pod has once.
func (p pod) layover(t *testing.T) container {
	t.Helper()
	var found []container
	for _, c := range append(slices.Clone(p.InitContainers), p.Containers...) {
		if c.Name == "layover" {
			found = append(found, c)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d containers are called layover, want 1", len(found))
	}
	return found[0]
}

// command runs a program, without any cluster, and returns what it wrote to its
// standard output. Its standard error is part of an error.
func command(t *testing.T, stdin []byte, name string, args ...string) ([]byte, error) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("skipped: there is no %s on the PATH", name)
	}
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+os.DevNull)
	cmd.Stdin = bytes.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = errors.New(name + " " + strings.Join(args, " ") + ": " + err.Error() + ": " + stderr.String())
	}
	return out, err
}

// decode reads YAML. It is kubectl that turns it into JSON, by removing an
// annotation that is not there.
func decode(t *testing.T, manifests []byte) rendering {
	t.Helper()
	out, err := command(t, manifests, "kubectl", "annotate", "--local", "-f", "-", "-o", "json", "none-")
	if err != nil {
		t.Fatal(err)
	}
	var r rendering
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var raw json.RawMessage
		if err := d.Decode(&raw); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		var o object
		if err := errors.Join(json.Unmarshal(raw, &o), json.Unmarshal(raw, &o.text)); err != nil {
			t.Fatalf("%v in %s", err, raw)
		}
		r = append(r, o)
	}
	if len(r) == 0 {
		t.Fatal("no objects")
	}
	return r
}

func kustomize(t *testing.T, dir string) rendering {
	t.Helper()
	out, err := command(t, nil, "kubectl", "kustomize", dir)
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, out)
}

func file(t *testing.T, name string) rendering {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, b)
}

// minimal are the values without which the chart has nothing to read.
func minimal(more ...string) []string {
	return append([]string{"--set", "settings.KAFKA_BROKERS=kafka:9092,settings.LAYOVER_INGRESS_TOPICS=delayed,settings.LAYOVER_EGRESS_TOPIC=ready,settings.LAYOVER_DLQ_TOPIC=dead"}, more...)
}

// native is the first version with native sidecars. What helm takes for the version
// of a cluster that it does not see depends on how it was built.
const native = "--kube-version=1.29.0"

func helm(t *testing.T, chart string, args ...string) rendering {
	t.Helper()
	out, err := command(t, nil, "helm", append([]string{"template", "release", chart}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, out)
}

// everything switches on all that the chart leaves out by default.
func everything(t *testing.T) []string {
	rules := filepath.Join(t.TempDir(), "rules.yaml")
	write(t, rules, "groups:\n- name: one\n  rules:\n  - alert: Late\n    expr: late > 1\n    annotations: {summary: 'on {{ $labels.pod }}'}\n")
	return minimal("--api-versions", "monitoring.coreos.com/v1", "--set-file", "prometheusRule.rules="+rules,
		"--set", "networkPolicy.enabled=true,podMonitor.enabled=true,podMonitor.interval=15s,prometheusRule.enabled=true,dashboard.enabled=true")
}

// withDependency returns a copy of the chart that has Layover's as a dependency, with
// that beside it, as helm dependency update makes it.
func withDependency(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "orders")
	for from, to := range map[string]string{"chart/orders": "", "chart/layover": "charts/layover"} {
		if err := os.CopyFS(filepath.Join(dir, to), os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// component returns a folder with a kustomization that adds components to resources.
func component(t *testing.T, resources string, components ...string) string {
	t.Helper()
	root := t.TempDir()
	if err := os.CopyFS(filepath.Join(root, "components"), os.DirFS("components")); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, "own")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	text := "resources: [resources.yaml]\nconfigMapGenerator: [{name: layover, literals: [KAFKA_BROKERS=kafka:9092, LAYOVER_INGRESS_TOPICS=delayed, LAYOVER_EGRESS_TOPIC=ready, LAYOVER_ON_INVALID=drop]}]\ncomponents:\n"
	for _, c := range components {
		text += "- ../components/" + c + "\n"
	}
	write(t, filepath.Join(dir, "kustomization.yaml"), text)
	write(t, filepath.Join(dir, "resources.yaml"), resources)
	return dir
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}
