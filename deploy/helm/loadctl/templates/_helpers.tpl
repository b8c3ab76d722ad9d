{{/* Names. That of a worker's pod is the longest, FULLNAME-worker-RUN-9999: with 25 characters for both it has 63, as many as
a name may have. */}}
{{- define "loadctl.fullname" -}}
{{- $name := ternary .Release.Name (printf "%s-loadctl" .Release.Name) (contains "loadctl" .Release.Name) -}}
{{- replace "." "-" $name | trunc 25 | trimSuffix "-" -}}
{{- end }}

{{- define "loadctl.run" -}}
{{- .Values.run.name | default (printf "%s-%d" (replace "." "-" .Release.Name | trunc 20 | trimSuffix "-") .Release.Revision) -}}
{{- end }}

{{- define "loadctl.image" -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end }}

{{- define "loadctl.redisSecret" -}}
{{- .Values.redis.existingSecret | default (printf "%s-redis" (include "loadctl.fullname" .)) -}}
{{- end }}

{{- define "loadctl.uiSecret" -}}
{{- .Values.ui.existingSecret | default (printf "%s-ui" (include "loadctl.fullname" .)) -}}
{{- end }}

{{/* Labels of an object: (list $ "worker") */}}
{{- define "loadctl.labels" -}}
{{- $top := index . 0 -}}
{{ include "loadctl.selector" . }}
app.kubernetes.io/version: {{ $top.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $top.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $top.Chart.Name $top.Chart.Version | replace "+" "_" | quote }}
{{- end }}

{{/* Labels of pods: what selects them, and no version of the chart, which would restart Redis at each upgrade. */}}
{{- define "loadctl.selector" -}}
{{- $top := index . 0 -}}
app.kubernetes.io/name: loadctl
app.kubernetes.io/instance: {{ $top.Release.Name | quote }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{/* An annotation that replaces a pod when what it was started with changes: (list PASSWORD …). Eight characters tell nobody
what it was. */}}
{{- define "loadctl.checksum" -}}
checksum/secrets: {{ join "\n" . | sha256sum | trunc 8 | quote }}
{{- end }}

{{/* Settings of all our pods. */}}
{{- define "loadctl.pod" -}}
automountServiceAccountToken: false
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . | quote }}
  {{- end }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile:
    type: RuntimeDefault
{{- end }}

{{- define "loadctl.container" -}}
image: {{ include "loadctl.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{ include "loadctl.privileges" . }}
{{- end }}

{{- define "loadctl.privileges" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end }}

{{- define "loadctl.redisEnv" -}}
- name: LOADCTL_REDIS
  valueFrom:
    secretKeyRef:
      name: {{ include "loadctl.redisSecret" . | quote }}
      key: url
{{- end }}
