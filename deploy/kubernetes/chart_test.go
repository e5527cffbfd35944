package kubernetes

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestTheChartsAreCleanByHelmsOwnJudgement(t *testing.T) {
	for _, chart := range []string{"chart/layover", withDependency(t)} {
		if out, err := command(t, nil, "helm", "lint", "--strict", chart); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
}

func TestTheChartRefusesWhatItDoesNotKnowAndSaysWhatIsMissing(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"a misspelt value":         {minimal("--set", "replicaCont=3"), "additional properties 'replicaCont' not allowed"},
		"a misspelt inner value":   {minimal("--set", "image.tags=1"), "additional properties 'tags' not allowed"},
		"a setting in small":       {minimal("--set", "settings.lanes=3"), "'lanes' does not match pattern"},
		"a setting that is a list": {minimal("--set", "settings.LAYOVER_TARGETS_ALLOWED={a,b}"), "/settings/LAYOVER_TARGETS_ALLOWED"},
		"no replicas":              {minimal("--set", "replicaCount=0"), "minimum: got 0, want 1"},
		"a third mode":             {minimal("--set", "mode=daemon"), "value must be one of 'standalone', 'sidecar'"},
		"the tag latest":           {minimal("--set", "image.tag=latest"), "/image/tag"},
		"no brokers":               {[]string{"--set", "settings.LAYOVER_INGRESS_TOPICS=a"}, "KAFKA_BROKERS is not set: give it as settings.KAFKA_BROKERS"},
		"no ingress topics":        {[]string{"--set", "settings.KAFKA_BROKERS=k:9092"}, "LAYOVER_INGRESS_TOPICS is not set"},
		"rules that are none": {minimal("--api-versions", "monitoring.coreos.com/v1", "--set", "prometheusRule.enabled=true,prometheusRule.rules=a: b"),
			"prometheusRule.rules has no groups"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := command(t, nil, "helm", append([]string{"template", "release", "chart/layover"}, c.args...)...)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q\n%s", err, c.want, out)
			}
		})
	}
}

func TestSettingsMayComeFromElsewhere(t *testing.T) {
	r := helm(t, "chart/layover", "--set", "envFrom[0].secretRef.name=kafka,extraEnv[0].name=GODEBUG,extraEnv[0].value=a")
	c := r.pod(t).layover(t)
	if len(c.EnvFrom) != 2 || c.EnvFrom[0].ConfigMapRef.Name == "" || c.EnvFrom[1].SecretRef.Name != "kafka" {
		t.Errorf("envFrom %+v, want the settings and then the secret: the last one counts", c.EnvFrom)
	}
	if len(c.Env) != 1 || c.Env[0].Name != "GODEBUG" || c.Env[0].Value != "a" {
		t.Errorf("env %+v", c.Env)
	}
}

func TestNumbersAmongTheSettingsStayAsTheyAre(t *testing.T) {
	values := filepath.Join(t.TempDir(), "values.yaml")
	write(t, values, "settings: {LAYOVER_MAX_PARKED_BYTES: 104857600, LAYOVER_LANES: 2, LAYOVER_GROUP_ID: \"010\", LAYOVER_JOURNAL: \"off\"}\n")
	data := helm(t, "chart/layover", minimal("--values", values, "--set", "settings.LAYOVER_GOMEMLIMIT=123456789")...).of("ConfigMap")[0].Data
	for name, want := range map[string]string{
		"LAYOVER_MAX_PARKED_BYTES": "104857600", "LAYOVER_LANES": "2", "LAYOVER_GOMEMLIMIT": "123456789",
		"LAYOVER_GROUP_ID": "010", "LAYOVER_JOURNAL": "off", // quoted
	} {
		if data[name] != want {
			t.Errorf("%s is %q, want %q", name, data[name], want)
		}
	}
}

func TestAProbeCanBeLeftOutOfTheChart(t *testing.T) {
	c := helm(t, "chart/layover", minimal("--set", "readinessProbe=null")...).pod(t).layover(t)
	if c.ReadinessProbe != nil || c.StartupProbe == nil || c.LivenessProbe == nil {
		t.Errorf("probes %v, %v, %v", c.StartupProbe, c.LivenessProbe, c.ReadinessProbe)
	}
}

func TestASidecarIsRefusedWhereItWouldKeepThePodFromStarting(t *testing.T) {
	out, err := command(t, nil, "helm", "template", "release", withDependency(t), "--kube-version", "1.28.9")
	if want := "a native sidecar needs Kubernetes 1.29 or later, and this is v1.28.9"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one with %q\n%s", err, want, out)
	}
}

func kinds(r rendering) map[string]int {
	n := make(map[string]int)
	for _, o := range r {
		n[o.Kind]++
	}
	return n
}

func TestWhatTheChartMakesInEachMode(t *testing.T) {
	plain := map[string]int{"ConfigMap": 1, "Deployment": 1, "ServiceAccount": 1, "Service": 1, "PodDisruptionBudget": 1, "Pod": 1}
	if got := kinds(helm(t, "chart/layover", minimal()...)); !reflect.DeepEqual(got, plain) {
		t.Errorf("standalone makes %v, want %v", got, plain)
	}
	none := minimal("--set", "serviceAccount.create=false,metricsService.enabled=false,podDisruptionBudget.enabled=false")
	if got, want := kinds(helm(t, "chart/layover", none...)), map[string]int{"ConfigMap": 1, "Deployment": 1}; !reflect.DeepEqual(got, want) {
		t.Errorf("the least is %v, want %v", got, want)
	}
	if got, want := kinds(helm(t, withDependency(t), native)), map[string]int{"ConfigMap": 1, "Deployment": 1}; !reflect.DeepEqual(got, want) {
		t.Errorf("a chart with a sidecar makes %v, want %v", got, want)
	}
}
