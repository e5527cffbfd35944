{{/*
layover.sidecar is one element of a pod's initContainers. A chart that has this one as
a dependency, with layover.mode: sidecar, writes

      initContainers:
      {{- include "layover.sidecar" .Subcharts.layover | nindent 6 }}

and {{ include "layover.checksum" .Subcharts.layover }} among the pod's annotations, so that new
settings are rolled out. An init container that is always started again is a native
sidecar: it starts before the application, ends after it, and holds up no Job.
*/}}
{{- define "layover.sidecar" -}}
{{- if ne .Values.mode "sidecar" }}
{{- /* A Deployment of its own would join the group of the sidecars, and take a share of the partitions. */}}
{{- fail (printf "%s.mode is %s, and layover.sidecar is included: set %s.mode to sidecar, or a Deployment comes beside the sidecars" .Chart.Name .Values.mode .Chart.Name) }}
{{- end }}
{{- if not (semverCompare ">=1.29.0-0" .Capabilities.KubeVersion.Version) }}
{{- /* An older one takes it for an init container that has to end, and the pod never starts. */}}
{{- fail (printf "a native sidecar needs Kubernetes 1.29 or later, and this is %s" .Capabilities.KubeVersion.Version) }}
{{- end }}
{{ include "layover.container" . }}
  restartPolicy: Always
{{- end }}

{{/*
layover.volumes are the elements of a pod's volumes that extraVolumeMounts name. A chart
with the sidecar writes them beside its own:

      volumes:
      {{- include "layover.volumes" .Subcharts.layover | nindent 6 }}
*/}}
{{- define "layover.volumes" -}}
{{- with .Values.extraVolumes }}{{ toYaml . }}{{ end }}
{{- end }}

{{/*
layover.container is what a sidecar and a container of its own have in common. There
is no preStop: beside an application it would run long before Layover's own stop.
*/}}
{{- define "layover.container" -}}
- name: layover
  image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
  imagePullPolicy: {{ .Values.image.pullPolicy }}
  envFrom:
  - configMapRef:
      name: {{ include "layover.fullname" . }}
  {{- with .Values.envFrom }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- with .Values.extraEnv }}
  env:
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- with .Values.extraVolumeMounts }}
  volumeMounts:
  {{- toYaml . | nindent 2 }}
  {{- end }}
  ports:
  - name: layover-http
    containerPort: 9846
  {{- range $name := list "startupProbe" "livenessProbe" "readinessProbe" }}
  {{- with index $.Values $name }}
  {{- $probe := deepCopy . }}
  {{- if and $probe.httpGet (eq (include "layover.https" $) "true") }}
  {{- $_ := set $probe "httpGet" (merge $probe.httpGet (dict "scheme" "HTTPS")) }}
  {{- end }}
  {{ $name }}:
    {{- toYaml $probe | nindent 4 }}
  {{- end }}
  {{- end }}
  resources:
    {{- toYaml .Values.resources | nindent 4 }}
  securityContext:
    {{- toYaml .Values.securityContext | nindent 4 }}
{{- end }}
