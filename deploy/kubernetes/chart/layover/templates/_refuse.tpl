{{/*
layover.refuse makes nothing. It fails where values would make pods that do not start,
or would be ignored without a word, and says what to do instead. What can be said by
values.schema.json is refused there, before any template is read.
*/}}
{{- define "layover.refuse" -}}
{{- include "layover.refuseSettings" . }}
{{- include "layover.refuseVariables" . }}
{{- if eq .Values.mode "sidecar" }}
{{- include "layover.refuseOfAPod" . }}
{{- end }}
{{- end }}

{{/*
To YAML off is false and 010 is 8, so that what arrives here is not what was written,
unless it was quoted. The schema lets both through, for its message would not say so.
*/}}
{{- define "layover.refuseSettings" -}}
{{- $counts := list "LAYOVER_LANES" "LAYOVER_MAX_PARKED_BYTES" "LAYOVER_GOMAXPROCS" "LAYOVER_GOMEMLIMIT" }}
{{- range $name, $value := .Values.settings }}
{{- if kindIs "bool" $value }}
{{- fail (printf "settings.%s is the boolean %v: no setting is one. YAML takes off, no, on and yes for booleans: quote it, as in %s: \"off\", or give it by --set-string" $name $value $name) }}
{{- end }}
{{- if not (or (kindIs "string" $value) (kindIs "invalid" $value)) }}
{{- if not (has $name $counts) }}
{{- fail (printf "settings.%s is the number %v, perhaps not as it was written: YAML takes 010 for 8. Quote it, as in %s: \"010\", or give it by --set-string" $name $value $name) }}
{{- end }}
{{- if ne (float64 (int64 $value)) (float64 $value) }}
{{- fail (printf "settings.%s is %v: a whole number is wanted" $name $value) }}
{{- end }}
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
{{- if regexMatch "^KAFKA_(SASL_|TLS_|SECURITY_PROTOCOL)" .name }}
{{- fail (printf "extraEnv has %s: Layover connects in plaintext and without a login, and does not start where anything else is asked for. Remove it" .name) }}
{{- end }}
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
{{- if .Values.podMonitor.enabled }}
{{- fail "podMonitor.enabled has no effect with mode: sidecar: the pods of the chart that has this one as a dependency have to be scraped, at their port layover-http. docs/kubernetes.md says how, under Metrics" }}
{{- end }}
{{- if .Values.networkPolicy.enabled }}
{{- fail "networkPolicy.enabled has no effect with mode: sidecar: a policy for the pods of the chart that has this one as a dependency belongs there, and has to let out DNS and Kafka, and let scrapers in at port 9846" }}
{{- end }}
{{- end }}
