package integration

import (
	"strings"
	"testing"
	"time"
)

// helmTest runs helm test against a release that is ready, over HTTP and over TLS. It also
// runs it against a release of which no pod is there, and against one that is degraded.
func (k *kube) helmTest(t *testing.T) {
	a := k.newApp(t, "helmtest", sidecarOverlay, "deployment/layover")
	a.install(nil, "--wait", "--timeout=100s")
	a.passes("/readyz over HTTP")

	cert, key := k.ca.issue(t, "layover", time.Now().Add(24*time.Hour), "layover")
	k.secret(t, a.namespace, "layover-tls", map[string]string{"tls.crt": string(cert), "tls.key": string(key)})
	a.settings["LAYOVER_HTTP_TLS_CERT_FILE"], a.settings["LAYOVER_HTTP_TLS_KEY_FILE"] = "/tls/tls.crt", "/tls/tls.key"
	tls := map[string]any{
		"extraVolumes":      []any{map[string]any{"name": "tls", "secret": map[string]any{"secretName": "layover-tls"}}},
		"extraVolumeMounts": []any{map[string]any{"name": "tls", "mountPath": "/tls", "readOnly": true}},
	}
	a.install(tls, "--wait", "--timeout=100s")
	a.passes("/readyz over TLS")

	a.kubectl("scale", a.workload, "--replicas=0")
	a.kubectl("wait", "--for=delete", "pod", "--selector=app.kubernetes.io/name=layover", "--timeout=50s")
	if out, err := a.helm("test", "layover", "--timeout=50s"); err == nil {
		t.Errorf("helm test passes without a pod:\n%s", out)
	}
	// What has failed can be looked at, and is no obstacle to the next.
	if said := a.kubectl("logs", "layover-test"); !strings.Contains(said, "no answer from https://layover-metrics:9846/readyz") {
		t.Errorf("the test that failed says: %s", said)
	}
	right := a.settings["LAYOVER_INGRESS_TOPICS"]
	a.settings["LAYOVER_INGRESS_TOPICS"] = right + ",misspelt"
	a.install(tls, "--wait", "--timeout=100s", "--set", "replicaCount=1")
	if out, err := a.helm("test", "layover", "--timeout=50s"); err == nil {
		t.Errorf("helm test passes with a misspelt topic:\n%s", out)
	}
	if said := a.kubectl("logs", "layover-test"); !strings.Contains(said, "degraded: ") || !strings.Contains(said, "misspelt") {
		t.Errorf("the test that failed says: %s", said)
	}
	a.settings["LAYOVER_INGRESS_TOPICS"] = right
	a.install(tls, "--wait", "--timeout=100s", "--set", "replicaCount=1")
	a.passes("again")
	a.deliver("after all that")
}

// passes runs helm test, which has to pass and to leave nothing behind.
func (a *app) passes(what string) {
	a.Helper()
	out, err := a.helm("test", "layover", "--timeout=50s")
	if err != nil || !strings.Contains(out, "Phase:          Succeeded") {
		a.Fatalf("%s: %v\n%s", what, err, out)
	}
	if left := a.kubectl("get", "pods", "--selector=app.kubernetes.io/name=layover-test", "-o", "name"); left != "" {
		a.Errorf("%s: helm test leaves %s", what, left)
	}
}
