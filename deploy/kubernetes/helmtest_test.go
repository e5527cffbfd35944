package kubernetes

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// testPod returns the pod of helm test, nil if there is none.
func (r rendering) testPod(t *testing.T) (*object, pod) {
	t.Helper()
	found := r.of("Pod")
	if len(found) == 0 {
		return nil, pod{}
	}
	raw, err := json.Marshal(found[0].text["spec"])
	var spec pod
	if err == nil {
		err = json.Unmarshal(raw, &spec)
	}
	if err != nil || len(found) != 1 || len(spec.Containers) != 1 {
		t.Fatalf("%d pods, the first %+v, %v", len(found), spec, err)
	}
	return &found[0], spec
}

// TestHelmTestAsksTheServiceWhetherLayoverIsReady is about what is made; the cluster tests
// run it.
func TestHelmTestAsksTheServiceWhetherLayoverIsReady(t *testing.T) {
	r := helm(t, "chart/layover", minimal("--set", "image.repository=registry.acme.example/layover,imagePullSecrets[0].name=registry,tolerations[0].key=kafka")...)
	o, p := r.testPod(t)
	if o == nil {
		t.Fatal("there is none")
	}
	c, of := p.Containers[0], r.pod(t).layover(t)
	if c.Image != of.Image || !slices.Equal(c.Args, []string{"health", "--ready", "--strict"}) || !reflect.DeepEqual(c.SecurityContext, of.SecurityContext) {
		t.Errorf("it is %+v, want Layover's own image, as confined, that asks whether it is ready and whole", c)
	}
	if len(c.Env) != 1 || c.Env[0].Name != "LAYOVER_HTTP_ADDR" || c.Env[0].Value != r.of("Service")[0].Metadata.Name+":9846" {
		t.Errorf("environment %v, want the Service's address alone", c.Env)
	}
	if c.Resources.Limits["memory"] == "" || p.AutomountServiceAccountToken == nil || *p.AutomountServiceAccountToken || p.EnableServiceLinks == nil || *p.EnableServiceLinks {
		t.Errorf("limits %v, token %v, service links %v", c.Resources.Limits, p.AutomountServiceAccountToken, p.EnableServiceLinks)
	}
	spec := o.text["spec"].(map[string]any)
	if spec["restartPolicy"] != "Never" || spec["activeDeadlineSeconds"] == nil || spec["imagePullSecrets"] == nil || spec["tolerations"] == nil {
		t.Errorf("the pod is %v", spec)
	}
	if a := o.Metadata.Annotations; a["helm.sh/hook"] != "test" || a["helm.sh/hook-delete-policy"] != "before-hook-creation,hook-succeeded" {
		t.Errorf("annotations %v", a)
	}
	// A Service, a budget or a Deployment that took it for one of Layover's would be wrong.
	selector := r.of("Deployment")[0].text["spec"].(map[string]any)["selector"].(map[string]any)["matchLabels"].(map[string]any)
	same := 0
	for name, value := range selector {
		if o.Metadata.Labels[name] == value {
			same++
		}
	}
	if same == len(selector) {
		t.Errorf("its labels %v are those of Layover's pods", o.Metadata.Labels)
	}
}

func TestHelmTestFollowsTLSAndIsLeftOutWhereThereIsNobodyToAsk(t *testing.T) {
	_, p := helm(t, "chart/layover", minimal("--set", "settings.LAYOVER_HTTP_TLS_CERT_FILE=/tls/tls.crt")...).testPod(t)
	if env := p.Containers[0].Env; len(env) != 2 || env[1].Name != "LAYOVER_HTTP_TLS_CERT_FILE" || env[1].Value == "" {
		t.Errorf("environment %v, want the setting by which health asks by TLS", env)
	}
	for _, set := range []string{"tests.enabled=false", "metricsService.enabled=false"} {
		if o, _ := helm(t, "chart/layover", minimal("--set", set)...).testPod(t); o != nil {
			t.Errorf("%s: there is a test", set)
		}
	}
	if o, _ := helm(t, withDependency(t), native).testPod(t); o != nil {
		t.Error("there is a test beside a sidecar, whose pods it does not know")
	}
}

// policy returns the rules of the one NetworkPolicy.
func policy(t *testing.T, args ...string) (ingress map[string]any, egress []any) {
	t.Helper()
	found := helm(t, "chart/layover", minimal(append(args, "--set", "networkPolicy.enabled=true")...)...).of("NetworkPolicy")
	if len(found) != 1 {
		t.Fatalf("%d policies", len(found))
	}
	spec := found[0].text["spec"].(map[string]any)
	return spec["ingress"].([]any)[0].(map[string]any), spec["egress"].([]any)
}

func TestANetworkPolicyLetsOutWhatIsAskedForAndLetsTheTestIn(t *testing.T) {
	ingress, egress := policy(t)
	if len(egress) != 1 || ingress["from"] != nil {
		t.Errorf("by default it lets in %v and out %v, want everybody, and DNS and Kafka", ingress, egress)
	}
	ingress, egress = policy(t, "--set-json", `networkPolicy.extraEgress=[{"to":[{"ipBlock":{"cidr":"203.0.113.7/32"}}],"ports":[{"port":443,"protocol":"TCP"}]},{"ports":[{"port":80}]}]`,
		"--set", "networkPolicy.from[0].namespaceSelector.matchLabels.name=monitoring")
	want := []any{
		map[string]any{"to": []any{map[string]any{"ipBlock": map[string]any{"cidr": "203.0.113.7/32"}}}, "ports": []any{map[string]any{"port": 443.0, "protocol": "TCP"}}},
		map[string]any{"ports": []any{map[string]any{"port": 80.0}}},
	}
	if len(egress) != 3 || !reflect.DeepEqual(egress[1:], want) {
		t.Errorf("it lets out %v, want %v at the end", egress, want)
	}
	from := ingress["from"].([]any)
	if len(from) != 2 {
		t.Fatalf("it lets in %v, want the scrapers and the pod of helm test", from)
	}
	o, _ := helm(t, "chart/layover", minimal()...).testPod(t)
	for name, value := range from[1].(map[string]any)["podSelector"].(map[string]any)["matchLabels"].(map[string]any) {
		if o.Metadata.Labels[name] != value {
			t.Errorf("it lets in %s=%v, and the pod of the test has %v", name, value, o.Metadata.Labels)
		}
	}
	if ingress, _ := policy(t, "--set", "tests.enabled=false,networkPolicy.from[0].namespaceSelector.matchLabels.name=monitoring"); len(ingress["from"].([]any)) != 1 {
		t.Errorf("without the test it lets in %v", ingress["from"])
	}
	out, err := command(t, nil, "helm", append([]string{"template", "release", "chart/layover"}, minimal("--set", "networkPolicy.extraEgress[0].form[0].a=b")...)...)
	if err == nil || !strings.Contains(err.Error(), "'form' not allowed") {
		t.Errorf("a misspelt rule: %v\n%s", err, out)
	}
}
