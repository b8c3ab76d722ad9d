{{- define "loadctl.fullname" -}}
{{- $name := ternary .Release.Name (printf "%s-loadctl" .Release.Name) (contains "loadctl" .Release.Name) -}}
{{- trunc 30 $name | trimSuffix "-" -}}
{{- end }}

{{- define "loadctl.run" -}}
{{- .Values.run.name | default (printf "%s-%d" (trunc 24 .Release.Name | trimSuffix "-") .Release.Revision) -}}
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

{{/* Labels of an object, and of pods: (list $ "worker") */}}
{{- define "loadctl.labels" -}}
{{- $top := index . 0 -}}
{{ include "loadctl.selector" . }}
app.kubernetes.io/version: {{ $top.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $top.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $top.Chart.Name $top.Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "loadctl.selector" -}}
{{- $top := index . 0 -}}
app.kubernetes.io/name: loadctl
app.kubernetes.io/instance: {{ $top.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{/* What every pod of ours has. */}}
{{- define "loadctl.pod" -}}
automountServiceAccountToken: false
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
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
      name: {{ include "loadctl.redisSecret" . }}
      key: url
{{- end }}
