package kubernetes

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"layover/verify/long"
)

// The document has every line that a chart needs for the sidecar, as the example has
// them. Without the annotation changed settings would not be rolled out.
func TestTheDocumentHasEveryLineThatAChartNeeds(t *testing.T) {
	example := read(t, "chart/orders/templates/deployment.yaml")
	found := 0
	for _, line := range strings.Split(example, "\n") {
		if !strings.Contains(line, `include "layover.`) {
			continue
		}
		found++
		for _, document := range []string{"../../docs/kubernetes.md", readme} {
			if !strings.Contains(read(t, document), "\n"+line+"\n") {
				t.Errorf("%s does not have the line\n%s", document, line)
			}
		}
	}
	if found != 3 {
		t.Errorf("%d lines of the example include something of Layover's, want the sidecar, its volumes and the annotation", found)
	}
}

// TestTheDocumentTakesAwayWhatItMakes follows the commands of the document, without a
// cluster: what they apply, by kind and name, they delete at the latest in the end. The
// names of generated ConfigMaps are those that kustomize makes.
func TestTheDocumentTakesAwayWhatItMakes(t *testing.T) {
	long.Only(t)
	there, applied := make(map[string]bool), 0
	for _, line := range strings.Split(read(t, "../../docs/kubernetes.md"), "\n") {
		words := strings.Fields(line)
		if len(words) < 4 || words[0] != "kubectl" {
			continue
		}
		var objects rendering
		switch target := strings.TrimPrefix(words[3], "deploy/kubernetes/"); words[2] {
		case "-f":
			objects = file(t, target)
		case "-k":
			objects = kustomize(t, target)
		}
		switch words[1] {
		case "apply":
			applied += len(objects)
			for _, o := range objects {
				there[o.Kind+" "+o.Metadata.Name] = true
			}
		case "delete":
			for _, o := range objects {
				delete(there, o.Kind+" "+o.Metadata.Name)
			}
			if words[2] == "configmap" {
				delete(there, "ConfigMap "+words[3])
			}
		}
	}
	if len(there) != 0 || applied == 0 {
		t.Errorf("of %d objects that were applied these are left: %v", applied, there)
	}
}

// The order of the components is what the document says it is: the other way round
// kustomize says nothing, and the probe stays.
func TestTheOrderOfTheComponentsCounts(t *testing.T) {
	long.Only(t)
	for _, c := range []struct {
		order []string
		probe bool
	}{
		{[]string{"sidecar", "without-readiness"}, false},
		{[]string{"without-readiness", "sidecar"}, true},
	} {
		if got := kustomize(t, component(t, job, c.order...)).pod(t).layover(t).ReadinessProbe; (got != nil) != c.probe {
			t.Errorf("with %v the readiness probe is %v, want one: %v", c.order, got, c.probe)
		}
	}
}

// The label counts where it is in the manifest, in a base, or by an earlier component. The
// kustomization's own labels and patches come too late, without a word of kustomize's.
func TestTheLabelOfTheSidecarHasToBeThereBeforeTheComponent(t *testing.T) {
	long.Only(t)
	const plain = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {template: {spec: {containers: [{name: app, image: \"a:1\"}]}}}\n"
	const labels = "labels: [{pairs: {layover/sidecar: enabled}}]\n"
	const patch = "patches: [{patch: '{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, labels: {layover/sidecar: enabled}}}'}]\n"
	for name, c := range map[string]struct {
		manifest, before, own string
		sidecar               int
	}{
		"in the manifest":         {strings.Replace(plain, "name: web", "name: web, labels: {layover/sidecar: enabled}", 1), "", "", 1},
		"by an earlier component": {plain, labels, "", 1},
		"nowhere":                 {plain, "", "", 0},
		"the kustomization's own": {plain, "", labels, 0},
		"its own patch":           {plain, "", patch, 0},
	} {
		t.Run(name, func(t *testing.T) {
			components := []string{"sidecar"}
			if c.before != "" {
				components = []string{"own", "sidecar"}
			}
			dir := component(t, c.manifest, components...)
			own := filepath.Join(dir, "..", "components", "own")
			if err := os.Mkdir(own, 0o777); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(own, "kustomization.yaml"), "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n"+c.before)
			write(t, filepath.Join(dir, "kustomization.yaml"), read(t, filepath.Join(dir, "kustomization.yaml"))+c.own)
			if got := len(kustomize(t, dir).pod(t).InitContainers); got != c.sidecar {
				t.Errorf("%d sidecars, want %d", got, c.sidecar)
			}
		})
	}
}

// What the two tests above hold of kustomize is said where a reader looks for it. Nothing is
// rendered for that, so every change asks it.
func TestWhatKustomizeDoesWithComponentsIsSaid(t *testing.T) {
	for _, c := range []struct{ document, says string }{
		{"../../docs/kubernetes.md", "components are applied"},
		{"components/without-readiness/kustomization.yaml", "components are applied"},
		{"../../docs/kubernetes.md", "Labels of the kustomization that lists this component come after it"},
		{"components/sidecar/kustomization.yaml", "labels of the kustomization that lists this component come after it"},
	} {
		if !strings.Contains(sentences(t, c.document), c.says) {
			t.Errorf("%s does not say %q", c.document, c.says)
		}
	}
}

// What a document says of a roll-out has to be true of two members of one group.
func TestNobodyClaimsThatTheNewPodHasReadEverything(t *testing.T) {
	for _, name := range []string{"../../docs/kubernetes.md", "base/deployment.yaml", "chart/layover/values.yaml"} {
		text := sentences(t, name)
		if strings.Contains(text, "has read what is parked before the old one stops") || !strings.Contains(text, "each that moves is read again by its new owner") {
			t.Errorf("%s does not say that partitions that move are read again", name)
		}
	}
}

// The row of a missing topic has the names by which one looks for it.
func TestTheDocumentSaysWhatAMissingIngressTopicDoes(t *testing.T) {
	for _, row := range strings.Split(read(t, "../../docs/kubernetes.md"), "\n") {
		if !strings.HasPrefix(row, "| An ingress topic is missing") {
			continue
		}
		for _, want := range []string{"`layover_ingress_usable{topic}` is 0", "`LayoverIngressUnusable`", "`/readyz`", "`missing_topics`", "`/status`"} {
			if !strings.Contains(row, want) {
				t.Errorf("the row does not have %s", want)
			}
		}
		return
	}
	t.Error("there is no such row")
}

// sentences returns the file's words with one space between, without what makes a line a
// comment or a heading.
func sentences(t *testing.T, name string) string {
	t.Helper()
	return strings.Join(strings.Fields(strings.ReplaceAll(read(t, name), "#", "")), " ")
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
