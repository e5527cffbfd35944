{{- define "layover.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* The release's name, and the chart's where it is not part of it. */}}
{{- define "layover.fullname" -}}
{{- $name := include "layover.name" . }}
{{- $full := contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name) }}
{{- .Values.fullnameOverride | default $full | trunc 55 | trimSuffix "-" }}
{{- end }}

{{- define "layover.selectorLabels" -}}
app.kubernetes.io/name: {{ include "layover.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* Other labels than those of the pods: a Service that took the test's pod for one would lead to it. */}}
{{- define "layover.testSelectorLabels" -}}
app.kubernetes.io/name: {{ include "layover.name" . | trunc 58 | trimSuffix "-" }}-test
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "layover.labels" -}}
{{ include "layover.selectorLabels" . }}
{{ include "layover.otherLabels" . }}
{{- end }}

{{- define "layover.otherLabels" -}}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "layover.serviceAccountName" -}}
{{- .Values.serviceAccount.name | default (ternary (include "layover.fullname" .) "default" .Values.serviceAccount.create) }}
{{- end }}

{{/* The settings as data of a ConfigMap. Numbers come as floats, and would turn into 1e+06. */}}
{{- define "layover.settings" -}}
{{- range $name, $value := .Values.settings }}
{{- if kindIs "float64" $value }}{{ $value = int64 $value }}{{ end }}
{{ $name }}: {{ $value | toString | quote }}
{{- end }}
{{- end }}

{{/* An annotation for the pods: it changes with the settings, and with it the pods do. */}}
{{- define "layover.checksum" -}}
checksum/layover-settings: {{ include "layover.settings" . | sha256sum }}
{{- end }}

{{/* The address of docs/operating.md in files/alerts.yaml, in whose place prometheusRule.runbookUrl comes. */}}
{{- define "layover.runbookStandIn" -}}
https://layover.example/docs/operating.md
{{- end }}

{{/*
layover.https is true where Layover serves TLS, so that probes, monitors and the test have
to speak it. Into envFrom nobody can look: there a probe with httpGet.scheme says so.
*/}}
{{- define "layover.https" -}}
{{- $names := list "LAYOVER_HTTP_TLS_CERT" "LAYOVER_HTTP_TLS_CERT_FILE" }}
{{- $https := false }}
{{- range $name := $names }}
{{- if index $.Values.settings $name }}{{ $https = true }}{{ end }}
{{- end }}
{{- range .Values.extraEnv }}
{{- if and (has .name $names) (or .value .valueFrom) }}{{ $https = true }}{{ end }}
{{- end }}
{{- range $name := list "startupProbe" "livenessProbe" "readinessProbe" }}
{{- if eq (dig "httpGet" "scheme" "" (index $.Values $name | default dict) | upper) "HTTPS" }}{{ $https = true }}{{ end }}
{{- end }}
{{- $https }}
{{- end }}
