package kubernetes

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"layover/config"
)

// refused checks that helm renders nothing, and says why.
func refused(t *testing.T, want string, args ...string) {
	t.Helper()
	out, err := command(t, nil, "helm", append([]string{"template", "release"}, args...)...)
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one with %q\n%s", err, want, out)
	}
}

func TestSettingsThatYAMLTakesForSomethingElseAreRefused(t *testing.T) {
	for name, c := range map[string]struct{ setting, want string }{
		"a journal that is off":        {"LAYOVER_JOURNAL: off", `settings.LAYOVER_JOURNAL is the boolean false, and the setting is none. YAML takes off, no, on and yes for booleans: quote it, as in LAYOVER_JOURNAL: "off"`},
		"a memory limit that is off":   {"LAYOVER_GOMEMLIMIT: off", `as in LAYOVER_GOMEMLIMIT: "off"`},
		"threads that are on":          {"LAYOVER_GOMAXPROCS: on", "settings.LAYOVER_GOMAXPROCS is the boolean true"},
		"a group that is octal":        {"LAYOVER_GROUP_ID: 010", `settings.LAYOVER_GROUP_ID is the number 8, perhaps not as it was written: YAML takes 010 for 8. Quote it`},
		"a topic that is a number":     {"LAYOVER_DLQ_TOPIC: 17", "settings.LAYOVER_DLQ_TOPIC is the number 17"},
		"a duration without a unit":    {"LAYOVER_SESSION_TIMEOUT: 30", "settings.LAYOVER_SESSION_TIMEOUT is the number 30"},
		"a fraction of a topic's name": {"LAYOVER_EGRESS_TOPIC: 1.5", "settings.LAYOVER_EGRESS_TOPIC is the number 1.5"},
		"a fraction of a lane":         {"LAYOVER_LANES: 1.5", "settings.LAYOVER_LANES is 1.5: a whole number is wanted"},
	} {
		t.Run(name, func(t *testing.T) {
			values := filepath.Join(t.TempDir(), "values.yaml")
			write(t, values, "settings: {"+c.setting+"}\n")
			// Not minimal, whose settings would count before these.
			refused(t, c.want, "chart/layover", "--set", "settings.KAFKA_BROKERS=k:9092,settings.LAYOVER_INGRESS_TOPICS=a", "--values", values)
			write(t, values, "layover: {settings: {"+c.setting+"}}\n")
			refused(t, c.want, withDependency(t), native, "--values", values)
		})
	}
}

// TestTheChartTakesNumbersForWhatIsANumber asks the program's own types. A setting that
// is counted, or measured in bytes, is an integer there or one with words. A duration
// is none.
func TestTheChartTakesNumbersForWhatIsANumber(t *testing.T) {
	numbers := 0
	fields := reflect.TypeFor[config.Config]()
	for i := range fields.NumField() {
		switch fields.Field(i).Type {
		case reflect.TypeFor[int](), reflect.TypeFor[int64](), reflect.TypeFor[config.Auto]():
			numbers++
		}
	}
	var taken []string
	for _, name := range config.Known() {
		if name == "LAYOVER_HTTP_ADDR" {
			continue // refused whatever it is
		}
		_, err := command(t, nil, "helm", append([]string{"template", "release", "chart/layover"}, minimal("--set", "settings."+name+"=16777216")...)...)
		if err == nil {
			taken = append(taken, name)
		}
	}
	want := []string{"LAYOVER_MAX_HOPS", "LAYOVER_MAX_PARKED_BYTES", "LAYOVER_CATCHUP_RATE", "LAYOVER_LANES", "LAYOVER_GOMAXPROCS", "LAYOVER_GOMEMLIMIT"}
	if !reflect.DeepEqual(taken, want) || len(want) != numbers {
		t.Errorf("numbers are taken for %v, want %v; the program has %d", taken, want, numbers)
	}
}

// TestTheChartTakesBooleansAndRefusesSecretsAsTheProgramHasThem asks the program's own
// table, so that a new switch or a new secret is not forgotten in templates/_refuse.tpl.
func TestTheChartTakesBooleansAndRefusesSecretsAsTheProgramHasThem(t *testing.T) {
	for _, row := range config.Table() {
		if row.Variable == "LAYOVER_HTTP_ADDR" {
			continue // refused whatever it is
		}
		_, isBoolean := command(t, nil, "helm", append([]string{"template", "release", "chart/layover"}, minimal("--set", "settings."+row.Variable+"=true")...)...)
		if want := strings.HasSuffix(row.Values, "true or false") || strings.HasSuffix(row.Values, "true, false"); (isBoolean == nil) != want {
			t.Errorf("%s: true is %v, and the program takes %s", row.Variable, isBoolean, row.Values)
		}
		if row.Variable == "LAYOVER_GROUP_INSTANCE_ID" {
			continue // refused whatever it is
		}
		out, isPlain := command(t, nil, "helm", append([]string{"template", "release", "chart/layover"}, minimal("--set-string", "settings."+row.Variable+"=hunter2")...)...)
		if (isPlain == nil) == row.Secret || row.Secret && (!strings.Contains(isPlain.Error(), "settings."+row.Variable+" is a secret") || strings.Contains(string(out), "hunter2")) {
			t.Errorf("%s: a plain value is %v, and it is a secret: %v", row.Variable, isPlain, row.Secret)
		}
		if row.Secret {
			helm(t, "chart/layover", minimal("--set-string", "settings."+row.Variable+"=,settings."+row.File()+"=/run/secrets/x")...)
		}
	}
	// A password that YAML takes for a number is not in the reason either.
	refused(t, "settings.KAFKA_SASL_PASSWORD is a secret", minimal("chart/layover", "--set", "settings.KAFKA_SASL_PASSWORD=1234")...)
	data := helm(t, "chart/layover", minimal("--set", "settings.KAFKA_TLS_ENABLED=true,settings.AWS_EC2_METADATA_DISABLED=false,settings.SERVICE_BINDING_ROOT=/bindings")...).of("ConfigMap")[0].Data
	if data["KAFKA_TLS_ENABLED"] != "true" || data["AWS_EC2_METADATA_DISABLED"] != "false" || data["SERVICE_BINDING_ROOT"] != "/bindings" {
		t.Errorf("the ConfigMap has %v", data)
	}
}

func TestWhatBreaksThePodIsRefused(t *testing.T) {
	for name, c := range map[string]struct{ set, want string }{
		"another port":                 {"settings.LAYOVER_HTTP_ADDR=:8080", "settings has LAYOVER_HTTP_ADDR: probes, the Service and scrapers ask port 9846"},
		"another port from a file":     {"settings.LAYOVER_HTTP_ADDR_FILE=/addr", "settings has LAYOVER_HTTP_ADDR_FILE"},
		"another port by extraEnv":     {"extraEnv[0].name=LAYOVER_HTTP_ADDR,extraEnv[0].value=:8080", "extraEnv has LAYOVER_HTTP_ADDR"},
		"a password for all to read":   {"settings.KAFKA_SASL_PASSWORD=hunter2", "settings.KAFKA_SASL_PASSWORD is a secret, and settings become a ConfigMap, which many may read: bring it by envFrom from a Secret, or set settings.KAFKA_SASL_PASSWORD_FILE to a file of extraVolumes"},
		"a password in a Deployment":   {"extraEnv[0].name=KAFKA_SASL_PASSWORD,extraEnv[0].value=hunter2", "extraEnv has the value of KAFKA_SASL_PASSWORD, a secret, and a Deployment is read by many: bring it by valueFrom.secretKeyRef"},
		"a name that one pod may have": {"settings.LAYOVER_GROUP_INSTANCE_ID=me", "settings has LAYOVER_GROUP_INSTANCE_ID, a name in the group that only one pod may have"},
		"the same of a file":           {"settings.LAYOVER_GROUP_INSTANCE_ID_FILE=/me,replicaCount=2", "settings has LAYOVER_GROUP_INSTANCE_ID_FILE"},
		"the same by extraEnv":         {"extraEnv[0].name=LAYOVER_GROUP_INSTANCE_ID,extraEnv[0].value=me", "extraEnv has LAYOVER_GROUP_INSTANCE_ID"},
		"a stop that takes too long":   {"settings.LAYOVER_SHUTDOWN_TIMEOUT=1m30s,terminationGracePeriodSeconds=60", "terminationGracePeriodSeconds is 60, and LAYOVER_SHUTDOWN_TIMEOUT is 1m30s: Kubernetes would kill Layover in the middle of its stop"},
		"a stop without a moment left": {"settings.LAYOVER_SHUTDOWN_TIMEOUT=15000ms", "terminationGracePeriodSeconds is 15, and LAYOVER_SHUTDOWN_TIMEOUT is 15000ms"},
		"too little for a default":     {"terminationGracePeriodSeconds=8", "terminationGracePeriodSeconds is 8, and LAYOVER_SHUTDOWN_TIMEOUT is 8s"},
		"a long stop by extraEnv":      {"settings.LAYOVER_SHUTDOWN_TIMEOUT=5s,extraEnv[0].name=LAYOVER_SHUTDOWN_TIMEOUT,extraEnv[0].value=20s", "LAYOVER_SHUTDOWN_TIMEOUT is 20s"},
		"a mount without a path":       {"extraVolumeMounts[0].name=kafka", "missing property 'mountPath'"},
		"a name with capitals":         {"nameOverride=Delays", "'Delays' does not match pattern"},
		"a full name with capitals":    {"fullnameOverride=Delays", "'Delays' does not match pattern"},
		"a full name with a dash":      {"fullnameOverride=delays-", "'delays-' does not match pattern"},
		"a full name with underlines":  {"fullnameOverride=de_lays", "'de_lays' does not match pattern"},
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, c.want, minimal("chart/layover", "--set", c.set)...)
		})
	}
	// Names that the API takes.
	for set, want := range map[string]string{"nameOverride=2-delays": "release-2-delays", "fullnameOverride=delays-2": "delays-2"} {
		if got := helm(t, "chart/layover", minimal("--set", set)...).of("Deployment")[0].Metadata.Name; got != want {
			t.Errorf("%s: the Deployment is called %s, want %s", set, got, want)
		}
	}
}

// TestWhatOnlyLooksLikeThatIsTaken: another name for each pod, and a stop in time.
func TestWhatOnlyLooksLikeThatIsTaken(t *testing.T) {
	for name, set := range map[string]string{
		"each pod's own name":               "extraEnv[0].name=LAYOVER_GROUP_INSTANCE_ID,extraEnv[0].valueFrom.fieldRef.fieldPath=metadata.name",
		"a name with each pod's own":        "extraEnv[0].name=LAYOVER_GROUP_INSTANCE_ID,extraEnv[0].value=a-$(POD)",
		"no name":                           "settings.LAYOVER_GROUP_INSTANCE_ID=",
		"a moment for the rest of a stop":   "settings.LAYOVER_SHUTDOWN_TIMEOUT=14999ms",
		"a long stop in a long grace":       "settings.LAYOVER_SHUTDOWN_TIMEOUT=1m30s,terminationGracePeriodSeconds=91",
		"less than a short grace":           "settings.LAYOVER_SHUTDOWN_TIMEOUT=500ms,terminationGracePeriodSeconds=1",
		"a timeout that a file knows":       "settings.LAYOVER_SHUTDOWN_TIMEOUT_FILE=/t,terminationGracePeriodSeconds=5",
		"a timeout that a ConfigMap knows":  "envFrom[0].configMapRef.name=more,terminationGracePeriodSeconds=5",
		"a timeout of a field":              "extraEnv[0].name=LAYOVER_SHUTDOWN_TIMEOUT,extraEnv[0].valueFrom.configMapKeyRef.key=a,settings.LAYOVER_SHUTDOWN_TIMEOUT=20s",
		"a timeout that Layover refuses":    "settings.LAYOVER_SHUTDOWN_TIMEOUT=soon",
		"a timeout for Kubernetes' default": "terminationGracePeriodSeconds=null,settings.LAYOVER_SHUTDOWN_TIMEOUT=29s",
	} {
		if _, err := command(t, nil, "helm", append([]string{"template", "release", "chart/layover"}, minimal("--set", set)...)...); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestASecretByTheNameOfAnotherProgramIsRefusedToo: the program ends with exit code 2 for most of these, and
// never prints the value, which the ConfigMap would have for all to read.
func TestASecretByTheNameOfAnotherProgramIsRefusedToo(t *testing.T) {
	for _, name := range []string{"KAFKA_SASL_JAAS_CONFIG", "KAFKA_SSL_KEYSTORE_PASSWORD", "KAFKA_PASSWORD", "LAYOVER_KAFKA_SASL_PASSWORD", "KAFKA_SASL_PASSWD",
		"KAFKA_TLS_PASSPHRASE", "KAFKA_API_SECRET", "LAYOVER_TOKEN", "KAFKA_TLS_PRIVATE_KEY"} {
		for set, want := range map[string]string{
			"settings." + name + "=hunter2":                           "settings." + name + " is by its name a secret, and no setting of Layover",
			"extraEnv[0].name=" + name + ",extraEnv[0].value=hunter2": "extraEnv has the value of " + name + ", a secret",
		} {
			out, err := command(t, nil, "helm", append([]string{"template", "release", "chart/layover"}, minimal("--set", set)...)...)
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(string(out), "hunter2") || strings.Count(err.Error(), "hunter2") > 1 { // once among the arguments
				t.Errorf("%s: %v\n%s", set, err, out)
			}
		}
		helm(t, "chart/layover", minimal("--set", "settings."+name+"_FILE=/run/secrets/x,extraEnv[0].name="+name+",extraEnv[0].valueFrom.secretKeyRef.key=x")...)
	}
}

// TestTheChartKnowsTheDefaultOfTheStop compares the grace period with the program's own.
func TestTheChartKnowsTheDefaultOfTheStop(t *testing.T) {
	for _, row := range config.Table() {
		if row.Variable == "LAYOVER_SHUTDOWN_TIMEOUT" {
			refused(t, "LAYOVER_SHUTDOWN_TIMEOUT is "+row.Default+":", minimal("chart/layover", "--set", "terminationGracePeriodSeconds=1")...)
			return
		}
	}
	t.Error("there is no such setting")
}

func TestASidecarsChartRefusesWhatBelongsToThePod(t *testing.T) {
	for set, want := range map[string]string{
		"imagePullSecrets[0].name=registry":             "imagePullSecrets has no effect with mode: sidecar, where the pod is that of the chart that has this one as a dependency: set it there",
		"podAnnotations.a=b":                            "podAnnotations has no effect",
		"podLabels.a=b":                                 "podLabels has no effect",
		"podSecurityContext.fsGroup=1":                  "podSecurityContext has no effect",
		"nodeSelector.disk=fast":                        "nodeSelector has no effect",
		"tolerations[0].key=a":                          "tolerations has no effect",
		"affinity.nodeAffinity.a=b":                     "affinity has no effect",
		"topologySpreadConstraints[0].topologyKey=zone": "topologySpreadConstraints has no effect",
		"priorityClassName=high":                        "priorityClassName has no effect",
		"networkPolicy.enabled=true":                    "networkPolicy.enabled has no effect with mode: sidecar",
		"podMonitor.enabled=true":                       "podMonitor.enabled has no effect with mode: sidecar: the pods of the chart that has this one as a dependency have to be scraped",
		"serviceMonitor.enabled=true":                   "serviceMonitor.enabled has no effect with mode: sidecar: the pods of the chart that has this one as a dependency have to be scraped",
		"mode=standalone":                               "layover.mode is standalone, and layover.sidecar is included: set layover.mode to sidecar",
		"settings.LAYOVER_HTTP_ADDR=:1":                 "settings has LAYOVER_HTTP_ADDR",
		"settings.KAFKA_TLS_KEY=x":                      "settings.KAFKA_TLS_KEY is a secret",
		"settings.KAFKA_PASSWORD=x":                     "settings.KAFKA_PASSWORD is by its name a secret",
		"settings.LAYOVER_GROUP_INSTANCE_ID=x":          "settings has LAYOVER_GROUP_INSTANCE_ID",
		"extraEnv[0].name=LAYOVER_HTTP_ADDR":            "extraEnv has LAYOVER_HTTP_ADDR",
	} {
		t.Run(set, func(t *testing.T) {
			refused(t, want, withDependency(t), native, "--set", "layover."+set)
		})
	}
}

func TestAChartWithAForgottenModeIsRefused(t *testing.T) {
	dir := withDependency(t)
	name := filepath.Join(dir, "values.yaml")
	values, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	without := strings.Replace(string(values), "  mode: sidecar\n", "", 1)
	if without == string(values) {
		t.Fatalf("there is no mode to forget in\n%s", values)
	}
	write(t, name, without)
	refused(t, "layover.mode is standalone, and layover.sidecar is included: set layover.mode to sidecar", dir, native)
}

func TestPullSecretsAreThoseOfAStandalonePod(t *testing.T) {
	spec := helm(t, "chart/layover", minimal("--set", "imagePullSecrets[0].name=registry")...).of("Deployment")[0].text["spec"].(map[string]any)
	pod := spec["template"].(map[string]any)["spec"].(map[string]any)
	if want := []any{map[string]any{"name": "registry"}}; !reflect.DeepEqual(pod["imagePullSecrets"], want) {
		t.Errorf("imagePullSecrets %v, want %v", pod["imagePullSecrets"], want)
	}
}

// The API server refuses a Recreate that has a rollingUpdate, as the default has.
func TestRecreateComesWithoutARollingUpdate(t *testing.T) {
	for set, want := range map[string]map[string]any{
		"strategy.type=Recreate":                    {"type": "Recreate"},
		"strategy.type=RollingUpdate":               {"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxSurge": 1.0, "maxUnavailable": 0.0}},
		"strategy.rollingUpdate.maxUnavailable=25%": {"rollingUpdate": map[string]any{"maxSurge": 1.0, "maxUnavailable": "25%"}},
	} {
		got := helm(t, "chart/layover", minimal("--set", set)...).of("Deployment")[0].text["spec"].(map[string]any)["strategy"]
		if !reflect.DeepEqual(got, any(want)) {
			t.Errorf("%s: strategy %v, want %v", set, got, want)
		}
	}
}
