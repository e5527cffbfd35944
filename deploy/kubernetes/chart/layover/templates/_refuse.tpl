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
{{- range .Values.extraEnv }}
{{- if and (has .name $secrets) .value }}
{{- fail (printf "extraEnv has the value of %s, a secret, and a Deployment is read by many: bring it by valueFrom.secretKeyRef" .name) }}
{{- end }}
{{- end }}
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
