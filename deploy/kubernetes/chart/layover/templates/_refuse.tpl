{{/*
layover.refuse makes nothing. It fails where values would make pods that do not start,
or would be ignored without a word, and says what to do instead. What can be said by
values.schema.json is refused there, before any template is read.
*/}}
{{- define "layover.refuse" -}}
{{- include "layover.refuseSecrets" . }}
{{- include "layover.refuseSettings" . }}
{{- include "layover.refuseVariables" . }}
{{- if eq .Values.mode "sidecar" }}
{{- include "layover.refuseOfAPod" . }}
{{- else }}
{{- include "layover.refuseGrace" . }}
{{- end }}
{{- include "layover.refuseMonitors" . }}
{{- end }}

{{/* Monitors that would count twice, or find nothing. */}}
{{- define "layover.refuseMonitors" -}}
{{- if .Values.serviceMonitor.enabled }}
{{- if .Values.podMonitor.enabled }}
{{- fail "podMonitor.enabled and serviceMonitor.enabled would have each pod scraped twice, under two names of a job: choose one" }}
{{- end }}
{{- if not .Values.metricsService.enabled }}
{{- fail "serviceMonitor.enabled finds the pods by the Service of metricsService.enabled, which is false: enable that, or podMonitor" }}
{{- end }}
{{- end }}
{{- end }}

{{/*
To YAML off is false and 010 is 8, so that what arrives here is not what was written,
unless it was quoted. The schema lets both through, for its message would not say so.
*/}}
{{- define "layover.refuseSettings" -}}
{{- $counts := list "LAYOVER_LANES" "LAYOVER_MAX_PARKED_BYTES" "LAYOVER_GOMAXPROCS" "LAYOVER_GOMEMLIMIT" "LAYOVER_MAX_HOPS" "LAYOVER_CATCHUP_RATE" }}
{{- $switches := list "KAFKA_TLS_ENABLED" "KAFKA_TLS_INSECURE_SKIP_VERIFY" "KAFKA_SASL_ALLOW_PLAINTEXT" "AWS_EC2_METADATA_DISABLED" }}
{{- range $name, $value := .Values.settings }}
{{- if and (kindIs "bool" $value) (not (has $name $switches)) }}
{{- fail (printf "settings.%s is the boolean %v, and the setting is none. YAML takes off, no, on and yes for booleans: quote it, as in %s: \"off\", or give it by --set-string" $name $value $name) }}
{{- end }}
{{- if not (or (kindIs "string" $value) (kindIs "invalid" $value) (kindIs "bool" $value)) }}
{{- if not (has $name $counts) }}
{{- fail (printf "settings.%s is the number %v, perhaps not as it was written: YAML takes 010 for 8. Quote it, as in %s: \"010\", or give it by --set-string" $name $value $name) }}
{{- end }}
{{- if ne (float64 (int64 $value)) (float64 $value) }}
{{- fail (printf "settings.%s is %v: a whole number is wanted" $name $value) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* Secrets that would be in a ConfigMap or in a Deployment. First of all, for other refusals print the value. */}}
{{- define "layover.refuseSecrets" -}}
{{- $secrets := list "KAFKA_TLS_KEY" "KAFKA_SASL_PASSWORD" "KAFKA_SASL_OAUTH_CLIENT_SECRET" "KAFKA_SASL_OAUTH_TOKEN" "AWS_SECRET_ACCESS_KEY" "AWS_SESSION_TOKEN" "AWS_WEB_IDENTITY_TOKEN" "AWS_CONTAINER_AUTHORIZATION_TOKEN" "LAYOVER_ADMIN_TOKEN" "LAYOVER_HTTP_TLS_KEY" }}
{{- range $name := $secrets }}
{{- if index $.Values.settings $name }}
{{- fail (printf "settings.%s is a secret, and settings become a ConfigMap, which many may read: bring it by envFrom from a Secret, or set settings.%s_FILE to a file of extraVolumes" $name $name) }}
{{- end }}
{{- end }}
{{- /* Those of other programs, which Layover refuses when it starts, and then they are there for all to read. */}}
{{- range $name, $value := .Values.settings }}
{{- if and $value (eq (include "layover.soundsSecret" $name) "true") }}
{{- fail (printf "settings.%s is by its name a secret, and no setting of Layover; settings become a ConfigMap, which many may read. docs/connect.md has the settings of a secured Kafka" $name) }}
{{- end }}
{{- end }}
{{- range .Values.extraEnv }}
{{- if and (or (has .name $secrets) (eq (include "layover.soundsSecret" .name) "true")) .value }}
{{- fail (printf "extraEnv has the value of %s, a secret, and a Deployment is read by many: bring it by valueFrom.secretKeyRef" .name) }}
{{- end }}
{{- end }}
{{- end }}

{{/* Whether a name is that of a secret. Of Layover's own names one sounds so and is none. */}}
{{- define "layover.soundsSecret" -}}
{{- and (regexMatch "PASS|SECRET|TOKEN|JAAS|KEY$" .) (not (hasSuffix "_FILE" .)) (ne . "KAFKA_SASL_OAUTH_TOKEN_ENDPOINT") }}
{{- end }}

{{/* Variables that break the pod, by whichever way they come: the schema cannot look into a list by name. */}}
{{- define "layover.refuseVariables" -}}
{{- $names := dict }}
{{- range $name, $value := .Values.settings }}
{{- $_ := set $names $name "settings" }}
{{- end }}
{{- range .Values.extraEnv }}
{{- $_ := set $names .name "extraEnv" }}
{{- end }}
{{- range $name := list "LAYOVER_HTTP_ADDR" "LAYOVER_HTTP_ADDR_FILE" }}
{{- if hasKey $names $name }}
{{- fail (printf "%s has %s: probes, the Service and scrapers ask port 9846, and would find nobody there. Remove it" (get $names $name) $name) }}
{{- end }}
{{- end }}
{{- $shared := "%s has %s, a name in the group that only one pod may have, and would give it to all, also to the old and the new one of a roll-out: each would throw the other out, and end it. Bring LAYOVER_GROUP_INSTANCE_ID by extraEnv with valueFrom.fieldRef.fieldPath: metadata.name" }}
{{- range $name := list "LAYOVER_GROUP_INSTANCE_ID" "LAYOVER_GROUP_INSTANCE_ID_FILE" }}
{{- if index $.Values.settings $name }}
{{- fail (printf $shared "settings" $name) }}
{{- end }}
{{- end }}
{{- range .Values.extraEnv }}
{{- /* $(NAME) may be each pod's own. */}}
{{- if and (eq .name "LAYOVER_GROUP_INSTANCE_ID") .value (not (contains "$(" (toString .value))) }}
{{- fail (printf $shared "extraEnv" .name) }}
{{- end }}
{{- end }}
{{- end }}

{{/*
A stop that Kubernetes ends with a kill. Go's own way to add a duration to a time reads the
timeout. One that only envFrom or a file knows is not compared, nor is one that Layover refuses.
*/}}
{{- define "layover.refuseGrace" -}}
{{- $name := "LAYOVER_SHUTDOWN_TIMEOUT" }}
{{- $file := printf "%s_FILE" $name }}
{{- $elsewhere := or .Values.envFrom (index .Values.settings $file) }}
{{- $timeout := index .Values.settings $name | default (ternary "" "8s" (not (empty $elsewhere))) }}
{{- range .Values.extraEnv }}
{{- if has .name (list $name $file) }}
{{- $timeout = ternary (.value | default "") "" (eq .name $name) }}
{{- end }}
{{- end }}
{{- $start := toDate "2006-01-02" "2000-01-01" }}
{{- $seconds := sub (dateModify $timeout $start | unixEpoch) (unixEpoch $start) }}
{{- $grace := .Values.terminationGracePeriodSeconds | default 30 | int64 }}
{{- if ge $seconds $grace }}
{{- fail (printf "terminationGracePeriodSeconds is %d, and %s is %s: Kubernetes would kill Layover in the middle of its stop, and records in flight would come again. Raise the first above the second, or lower the second" $grace $name $timeout) }}
{{- end }}
{{- end }}

{{/* In a sidecar's chart these belong to the pod, and the pod to the chart that this one is a dependency of. */}}
{{- define "layover.refuseOfAPod" -}}
{{- range $name := list "imagePullSecrets" "podAnnotations" "podLabels" "podSecurityContext" "nodeSelector" "tolerations" "affinity" "topologySpreadConstraints" "priorityClassName" }}
{{- if index $.Values $name }}
{{- fail (printf "%s has no effect with mode: sidecar, where the pod is that of the chart that has this one as a dependency: set it there, in the pod template beside initContainers" $name) }}
{{- end }}
{{- end }}
{{- range $name := list "podMonitor" "serviceMonitor" }}
{{- if (index $.Values $name).enabled }}
{{- fail (printf "%s.enabled has no effect with mode: sidecar: the pods of the chart that has this one as a dependency have to be scraped, at their port layover-http. docs/kubernetes.md says how, under Metrics" $name) }}
{{- end }}
{{- end }}
{{- if .Values.networkPolicy.enabled }}
{{- fail "networkPolicy.enabled has no effect with mode: sidecar: a policy for the pods of the chart that has this one as a dependency belongs there, and has to let out DNS and Kafka, and let scrapers in at port 9846" }}
{{- end }}
{{- end }}
