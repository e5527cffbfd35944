package kubernetes

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// operator makes helm believe that the cluster has the Prometheus operator's resources.
var operator = []string{"--api-versions", "monitoring.coreos.com/v1"}

func TestMonitoringNeedsTheResourcesOfTheOperator(t *testing.T) {
	with := helm(t, "chart/layover", everything(t)...)
	rules := with.of("PrometheusRule")
	if len(with.of("PodMonitor")) != 1 || len(with.of("NetworkPolicy")) != 1 || len(rules) != 1 || len(rules[0].Spec.Groups) != 1 {
		t.Fatalf("all of it makes %v", kinds(with))
	}
	// What is a template to Prometheus is none to Helm.
	group := rules[0].Spec.Groups[0].(map[string]any)
	alert := group["rules"].([]any)[0].(map[string]any)
	if got := alert["annotations"].(map[string]any)["summary"]; got != "on {{ $labels.pod }}" {
		t.Errorf("the summary of an alert became %q", got)
	}
	endpoint := with.of("PodMonitor")[0].text["spec"].(map[string]any)["podMetricsEndpoints"].([]any)[0]
	if want := map[string]any{"port": "layover-http", "path": "/metrics", "interval": "15s"}; !reflect.DeepEqual(endpoint, want) {
		t.Errorf("the PodMonitor reads %v, want %v", endpoint, want)
	}
	without := helm(t, "chart/layover", minimal("--set", "podMonitor.enabled=true,prometheusRule.enabled=true")...)
	if len(without.of("PodMonitor"))+len(without.of("PrometheusRule")) != 0 {
		t.Errorf("a cluster without the operator gets %v", kinds(without))
	}
}

// TestTheChartHasTheAlertsAndTheDashboardAsTheyAre compares the chart's copies: a chart
// cannot reach beyond its folder.
func TestTheChartHasTheAlertsAndTheDashboardAsTheyAre(t *testing.T) {
	for _, name := range []string{"alerts.yaml", "dashboard.json"} {
		if read(t, "../monitoring/"+name) != read(t, "chart/layover/files/"+name) {
			t.Errorf("they differ: cp deploy/monitoring/%[1]s deploy/kubernetes/chart/layover/files/%[1]s", name)
		}
	}
}

// rule is one alert of a PrometheusRule.
type rule struct {
	Alert, Expr string
	Annotations map[string]string
}

// rules returns the alerts of the one PrometheusRule.
func (r rendering) rules(t *testing.T) (out []rule) {
	t.Helper()
	made := r.of("PrometheusRule")
	if len(made) != 1 {
		t.Fatalf("%d PrometheusRules, want 1", len(made))
	}
	for _, group := range made[0].Spec.Groups {
		raw, err := json.Marshal(group.(map[string]any)["rules"])
		var some []rule
		if err == nil {
			err = json.Unmarshal(raw, &some)
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, some...)
	}
	return out
}

// The chart's own alerts are the shipped ones, and so are those that it is given as a file.
// Both have the address of the document that the value names.
func TestTheAlertsOfTheChartLeadToTheDocumentThatTheValueNames(t *testing.T) {
	const standIn = "https://layover.example/docs/operating.md"
	want := strings.Count(read(t, "../monitoring/alerts.yaml"), "- alert: ")
	for name, c := range map[string]struct {
		base string
		args []string
	}{
		"by default":         {standIn, nil},
		"another address":    {"https://git.acme.example/layover/docs/operating.md", []string{"--set", "prometheusRule.runbookUrl=https://git.acme.example/layover/docs/operating.md"}},
		"a query, and long":  {"https://wiki.acme.example/" + strings.Repeat("deep/", 30) + "?page=operating", []string{"--set", "prometheusRule.runbookUrl=https://wiki.acme.example/" + strings.Repeat("deep/", 30) + "?page=operating"}},
		"a file of the same": {"http://runbooks:8080", []string{"--set", "prometheusRule.runbookUrl=http://runbooks:8080", "--set-file", "prometheusRule.rules=../monitoring/alerts.yaml"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := helm(t, "chart/layover", append(minimal(append(operator, "--set", "prometheusRule.enabled=true")...), c.args...)...).rules(t)
			if len(got) != want || want == 0 {
				t.Errorf("%d alerts, want %d", len(got), want)
			}
			for _, r := range got {
				if url := r.Annotations["runbook_url"]; url != c.base+"#"+strings.ToLower(r.Alert) || strings.TrimSpace(r.Expr) == "" {
					t.Errorf("%s: runbook_url %q below %s, expression %q", r.Alert, url, c.base, r.Expr)
				}
			}
		})
	}
	for _, wrong := range []string{"docs/operating.md", "", "ftp://host/x", "https://host/x#anchor", "https://host/two words", "https:///x"} {
		refused(t, "/prometheusRule/runbookUrl", minimal("chart/layover", "--set-string", "prometheusRule.runbookUrl="+wrong)...)
	}
}

// What helm makes of the rules is what Prometheus takes: it writes YAML in its own way.
func TestPromtoolTakesTheAlertsOfTheChart(t *testing.T) {
	made := helm(t, "chart/layover", minimal(append(operator, "--set", "prometheusRule.enabled=true")...)...)
	groups, err := json.Marshal(map[string]any{"groups": made.of("PrometheusRule")[0].Spec.Groups})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "rules.yaml") // JSON is YAML
	write(t, file, string(groups))
	out, err := command(t, nil, "promtool", "check", "rules", file)
	if want := fmt.Sprintf("SUCCESS: %d rules found", len(made.rules(t))); err != nil || !strings.Contains(string(out), want) {
		t.Errorf("want %q, got %v\n%s", want, err, out)
	}
}

func TestTheDashboardIsAConfigMapThatGrafanasSidecarFinds(t *testing.T) {
	find := func(args ...string) object {
		t.Helper()
		for _, o := range helm(t, "chart/layover", minimal(append([]string{"--set", "dashboard.enabled=true"}, args...)...)...).of("ConfigMap") {
			if o.Metadata.Name == "release-layover-dashboard" {
				return o
			}
		}
		t.Fatal("there is none")
		return object{}
	}
	plain := find()
	if plain.Metadata.Labels["grafana_dashboard"] != "1" || plain.Metadata.Namespace != "" || len(plain.Metadata.Annotations) != 0 {
		t.Errorf("%+v, want the label of Grafana's sidecar and the release's namespace", plain.Metadata)
	}
	var got, want any
	if err := json.Unmarshal([]byte(plain.Data["layover.json"]), &got); err != nil || len(plain.Data) != 1 {
		t.Fatalf("%d files, %v", len(plain.Data), err)
	}
	if err := json.Unmarshal([]byte(read(t, "../monitoring/dashboard.json")), &want); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("it is another dashboard than the shipped one, %v", err)
	}
	own := find("--set", "dashboard.namespace=grafana,dashboard.labels.team=kafka,dashboard.labels.grafana_dashboard=null,dashboard.annotations.grafana_folder=Kafka")
	_, has := own.Metadata.Labels["grafana_dashboard"]
	if own.Metadata.Namespace != "grafana" || own.Metadata.Labels["team"] != "kafka" || has || own.Metadata.Annotations["grafana_folder"] != "Kafka" {
		t.Errorf("%+v, want what the values say", own.Metadata)
	}
	if n := len(helm(t, withDependency(t), native, "--set", "layover.dashboard.enabled=true").of("ConfigMap")); n != 2 {
		t.Errorf("%d ConfigMaps beside a sidecar, want the settings and the dashboard", n)
	}
}

// endpoint returns the one endpoint of the ServiceMonitor, and checks that it selects the
// Service.
func (r rendering) endpoint(t *testing.T) map[string]any {
	t.Helper()
	monitors, services := r.of("ServiceMonitor"), r.of("Service")
	if len(monitors) != 1 || len(services) != 1 {
		t.Fatalf("makes %v", kinds(r))
	}
	spec := monitors[0].text["spec"].(map[string]any)
	for name, value := range spec["selector"].(map[string]any)["matchLabels"].(map[string]any) {
		if services[0].Metadata.Labels[name] != value {
			t.Errorf("it selects %s=%v, and the Service has the labels %v", name, value, services[0].Metadata.Labels)
		}
	}
	return spec["endpoints"].([]any)[0].(map[string]any)
}

func TestAServiceMonitorReadsTheMetricsService(t *testing.T) {
	enabled := minimal(append(operator, "--set", "serviceMonitor.enabled=true")...)
	for name, c := range map[string]struct {
		set  string
		want map[string]any
	}{
		"plain": {"serviceMonitor.labels.release=prometheus", map[string]any{"port": "layover-http", "path": "/metrics"}},
		"times": {"serviceMonitor.interval=15s,serviceMonitor.scrapeTimeout=5s",
			map[string]any{"port": "layover-http", "path": "/metrics", "interval": "15s", "scrapeTimeout": "5s"}},
		"TLS": {"settings.LAYOVER_HTTP_TLS_CERT_FILE=/tls/tls.crt,serviceMonitor.tlsConfig.serverName=layover",
			map[string]any{"port": "layover-http", "path": "/metrics", "scheme": "https", "tlsConfig": map[string]any{"serverName": "layover"}}},
		"TLS by envFrom": {"envFrom[0].secretRef.name=tls,readinessProbe.httpGet.scheme=HTTPS",
			map[string]any{"port": "layover-http", "path": "/metrics", "scheme": "https"}},
		"a name without TLS": {"serviceMonitor.tlsConfig.serverName=layover", map[string]any{"port": "layover-http", "path": "/metrics"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := helm(t, "chart/layover", append(enabled, "--set", c.set)...).endpoint(t); !reflect.DeepEqual(got, c.want) {
				t.Errorf("it reads %v, want %v", got, c.want)
			}
		})
	}
	labelled := helm(t, "chart/layover", append(enabled, "--set", "serviceMonitor.labels.release=prometheus")...).of("ServiceMonitor")[0]
	if labelled.Metadata.Labels["release"] != "prometheus" {
		t.Errorf("labels %v", labelled.Metadata.Labels)
	}
	if r := helm(t, "chart/layover", minimal("--set", "serviceMonitor.enabled=true")...); len(r.of("ServiceMonitor")) != 0 {
		t.Errorf("a cluster without the operator gets %v", kinds(r))
	}
	refused(t, "podMonitor.enabled and serviceMonitor.enabled would have each pod scraped twice", append([]string{"chart/layover"}, append(enabled, "--set", "podMonitor.enabled=true")...)...)
	refused(t, "finds the pods by the Service of metricsService.enabled, which is false", append([]string{"chart/layover"}, append(enabled, "--set", "metricsService.enabled=false")...)...)
}

// The notes of a release name what is not there. helm shows them to a cluster alone, so
// that a template beside them includes them here.
func TestTheNotesSayWhatIsMissing(t *testing.T) {
	told := filepath.Join(t.TempDir(), "layover")
	if err := os.CopyFS(told, os.DirFS("chart/layover")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(told, "templates", "told.yaml"), "apiVersion: v1\nkind: Told\nmetadata: {name: told}\nnotes: {{ include (print $.Template.BasePath \"/NOTES.txt\") . | quote }}\n")
	const nowhere, left, shut = "runbook_url leads nowhere yet", "that were asked for are left out", "The NetworkPolicy does not let out port "
	for name, c := range map[string]struct {
		args   []string
		want   []string
		absent []string
	}{
		"nothing asked for": {nil, []string{"helm -n default test release\n"}, []string{nowhere, left, shut}},
		"a broker whose port is shut": {[]string{"--set", `networkPolicy.enabled=true,settings.KAFKA_BROKERS=a:9092\, b:9094`},
			[]string{shut + "9094 of b:9094 in KAFKA_BROKERS: add it to networkPolicy.kafkaPorts"}, []string{shut + "9092"}},
		"ports that are let out":      {[]string{"--set", `networkPolicy.enabled=true,networkPolicy.kafkaPorts={9092,9094},settings.KAFKA_BROKERS=a:9092\,b:9094`}, nil, []string{shut}},
		"no policy":                   {[]string{"--set", "settings.KAFKA_BROKERS=a:9094"}, nil, []string{shut}},
		"brokers that a Secret knows": {[]string{"--set", "networkPolicy.enabled=true,settings.KAFKA_BROKERS=,envFrom[0].secretRef.name=a"}, nil, []string{shut}},
		"rules as they are":           {append(operator, "--set", "prometheusRule.enabled=true"), []string{nowhere}, []string{left}},
		"rules with an address": {append(operator, "--set", "prometheusRule.enabled=true,prometheusRule.runbookUrl=https://a.example/x"),
			nil, []string{nowhere, left}},
		"no operator": {[]string{"--set", "serviceMonitor.enabled=true"}, []string{left}, []string{nowhere}},
		"no test":     {[]string{"--set", "tests.enabled=false"}, nil, []string{" test release"}},
		"no Service":  {[]string{"--set", "metricsService.enabled=false"}, nil, []string{" test release"}},
	} {
		t.Run(name, func(t *testing.T) {
			notes := helm(t, told, minimal(c.args...)...).of("Told")[0].text["notes"].(string)
			for _, want := range c.want {
				if !strings.Contains(notes, want) {
					t.Errorf("no %q in the notes:\n%s", want, notes)
				}
			}
			for _, absent := range c.absent {
				if strings.Contains(notes, absent) {
					t.Errorf("%q in the notes:\n%s", absent, notes)
				}
			}
		})
	}
}
