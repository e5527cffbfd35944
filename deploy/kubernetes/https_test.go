package kubernetes

import (
	"reflect"
	"testing"

	"layover/verify/long"
)

// schemes are those of the probes of Layover's container, "" for HTTP.
func (c container) schemes() [3]string {
	return [3]string{c.StartupProbe.HTTPGet.Scheme, c.LivenessProbe.HTTPGet.Scheme, c.ReadinessProbe.HTTPGet.Scheme}
}

func TestTheProbesOfTheChartFollowTLS(t *testing.T) {
	all, none := [3]string{"HTTPS", "HTTPS", "HTTPS"}, [3]string{}
	for name, c := range map[string]struct {
		set  string
		want [3]string
	}{
		"a file":                {"settings.LAYOVER_HTTP_TLS_CERT_FILE=/tls/tls.crt", all},
		"a value":               {"settings.LAYOVER_HTTP_TLS_CERT=pem", all},
		"a file by extraEnv":    {"extraEnv[0].name=LAYOVER_HTTP_TLS_CERT_FILE,extraEnv[0].value=/tls/tls.crt", all},
		"a secret by extraEnv":  {"extraEnv[0].name=LAYOVER_HTTP_TLS_CERT,extraEnv[0].valueFrom.secretKeyRef.name=tls", all},
		"an empty setting":      {"settings.LAYOVER_HTTP_TLS_CERT_FILE=", none},
		"envFrom, by one probe": {"envFrom[0].secretRef.name=tls,livenessProbe.httpGet.scheme=HTTPS", all},
		"nothing":               {"settings.LAYOVER_LANES=2", none},
		"the key alone":         {"settings.LAYOVER_HTTP_TLS_KEY_FILE=/tls/tls.key", none},
		"a scheme of one's own": {"settings.LAYOVER_HTTP_TLS_CERT_FILE=/tls/tls.crt,livenessProbe.httpGet.scheme=HTTP", [3]string{"HTTPS", "HTTP", "HTTPS"}},
	} {
		t.Run(name, func(t *testing.T) {
			with := helm(t, "chart/layover", minimal("--set", c.set)...).pod(t).layover(t)
			if got := with.schemes(); got != c.want {
				t.Errorf("schemes %q, want %q", got, c.want)
			}
			if with.StartupProbe.HTTPGet.Path != "/startupz" || with.ReadinessProbe.PeriodSeconds != 5 {
				t.Errorf("the rest of the probes: %+v", with)
			}
		})
	}
	sidecar := helm(t, withDependency(t), native, "--set", "layover.settings.LAYOVER_HTTP_TLS_CERT_FILE=/tls/tls.crt").pod(t).layover(t)
	if got := sidecar.schemes(); got != all {
		t.Errorf("a sidecar's schemes: %q", got)
	}
}

func TestThePodMonitorFollowsTLS(t *testing.T) {
	with := append(everything(t), "--set", "settings.LAYOVER_HTTP_TLS_CERT_FILE=/tls/tls.crt,podMonitor.tlsConfig.serverName=layover")
	endpoint := helm(t, "chart/layover", with...).of("PodMonitor")[0].text["spec"].(map[string]any)["podMetricsEndpoints"].([]any)[0]
	want := map[string]any{"port": "layover-http", "path": "/metrics", "interval": "15s", "scheme": "https", "tlsConfig": map[string]any{"serverName": "layover"}}
	if !reflect.DeepEqual(endpoint, want) {
		t.Errorf("the PodMonitor reads %v, want %v", endpoint, want)
	}
}

func TestTheProbesOfKustomizationsFollowTLS(t *testing.T) {
	long.Only(t)
	const base = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: layover, labels: {app.kubernetes.io/name: layover}}
spec: {template: {spec: {containers: [{name: layover, image: "l:1", startupProbe: {httpGet: {path: /startupz}}, livenessProbe: {httpGet: {path: /livez}}, readinessProbe: {httpGet: {path: /readyz}}}]}}}
`
	for name, r := range map[string]rendering{
		"standalone": kustomize(t, component(t, base, "https")),
		"sidecar":    kustomize(t, component(t, job, "sidecar", "https")),
	} {
		c := r.pod(t).layover(t)
		if got, want := c.schemes(), [3]string{"HTTPS", "HTTPS", "HTTPS"}; got != want || c.LivenessProbe.HTTPGet.Path != "/livez" {
			t.Errorf("%s: schemes %q, %+v", name, got, c.LivenessProbe)
		}
		if p := r.pod(t); len(p.InitContainers)+len(p.Containers) > 2 {
			t.Errorf("%s: %+v", name, p)
		}
	}
	without := kustomize(t, component(t, job, "sidecar", "https", "without-readiness")).pod(t).layover(t)
	if without.ReadinessProbe != nil || without.LivenessProbe.HTTPGet.Scheme != "HTTPS" {
		t.Errorf("without readiness: %+v", without)
	}
}
