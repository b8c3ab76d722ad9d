package manifests

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"
)

const chartDir = root + "/deploy/helm/loadctl"

// valueSets are the files of values that the chart is tested with, by name.
func valueSets(t *testing.T) map[string]map[string]any {
	t.Helper()
	names, err := filepath.Glob(chartDir + "/ci/*-values.yaml")
	if err != nil || len(names) != 5 {
		t.Fatalf("%q, %v: want five sets of values", names, err)
	}
	all := map[string]map[string]any{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		values := map[string]any{}
		if err := yaml.UnmarshalStrict(text, &values); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all[strings.TrimSuffix(path.Base(name), "-values.yaml")] = values
	}
	return all
}

// render returns the objects of the chart with some values, as `helm install load CHART` sends them to the cluster.
func render(values map[string]any) (*cluster, error) { return renderAs("load", "1.2.3", values) }

// renderAs is render for a release of another name and a chart of another version.
func renderAs(release, version string, values map[string]any) (*cluster, error) {
	chart, err := loader.LoadDir(chartDir)
	if err != nil {
		return nil, err
	}
	chart.Metadata.Version = version
	options := common.ReleaseOptions{Name: release, Namespace: "perf", Revision: 1, IsInstall: true}
	all, err := util.ToRenderValues(chart, values, options, common.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	texts, err := engine.Engine{Strict: true}.RenderWithContext(context.Background(), chart, all)
	if err != nil {
		return nil, err
	}
	c := emptyCluster()
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if !strings.HasSuffix(name, ".yaml") {
			continue
		}
		for document := range strings.SplitSeq("\n"+texts[name], "\n---\n") {
			if strings.TrimSpace(document) == "" {
				continue
			}
			if err := c.add(document); err != nil {
				return nil, fmt.Errorf("%s: %w\n%s", name, err, document)
			}
		}
	}
	return c, nil
}

// TestChart lints the chart, renders it with each set of values, and decodes all objects as strictly as a cluster with
// fieldValidation=Strict. Then it checks what no decoder knows.
func TestChart(t *testing.T) {
	for name, values := range valueSets(t) {
		t.Run(name, func(t *testing.T) {
			for _, m := range lint.RunAll(chartDir, values, "perf").Messages {
				if m.Severity > support.InfoSev {
					t.Error(m)
				}
			}
			c, err := render(values)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.checkChart("shared-redis", "run-redis", "shop-headers", "shop-token", "reports"); err != nil {
				t.Error(err)
			}
		})
	}
}

// checkChart checks whether the objects fit together.
func (c *cluster) checkChart(foreign ...string) error {
	for _, name := range foreign { // secrets that are there already
		c.secrets[name] = &corev1.Secret{StringData: map[string]string{"url": "redis://:" + password + "@load-loadctl-redis:6379", "password": password}}
	}
	wrong := []error{c.checkServices(), c.checkIngresses()}
	for name, p := range c.pods() {
		if p.Labels["app.kubernetes.io/instance"] != "load" || p.Labels["app.kubernetes.io/name"] != "loadctl" {
			wrong = append(wrong, fmt.Errorf("%s has the labels %v", name, p.Labels))
		}
		if p.Labels["app.kubernetes.io/component"] == "control" {
			p.name = "loadctl" // it ends by itself, and needs no probe
		}
		wrong = append(wrong, c.checkReferences(p), c.checkVolumes(p, foreign), checkPrivileges(p), checkProbes(p), c.checkReach(p))
		if line := commandLine(slices.Concat(p.container().Command, p.container().Args)); line[0] != "redis-server" {
			wrong = append(wrong, line.check())
		}
		if r := p.container().Resources; r.Limits.Memory().IsZero() || r.Requests.Memory().IsZero() || r.Requests.Cpu().IsZero() {
			wrong = append(wrong, fmt.Errorf("%s: no limit of the memory, or no requests", name))
		}
	}
	return errors.Join(wrong...)
}

// checkVolumes checks that what the volumes of a pod name exists.
func (c *cluster) checkVolumes(p pod, foreign []string) error {
	var wrong []error
	for _, v := range p.Spec.Volumes {
		name, there := "", true
		switch {
		case v.Secret != nil:
			name = v.Secret.SecretName
			there = c.secrets[name] != nil
		case v.ConfigMap != nil:
			name = v.ConfigMap.Name
			there = c.configs[name] != nil
		case v.PersistentVolumeClaim != nil:
			name = v.PersistentVolumeClaim.ClaimName
			there = c.claims[name] != nil || slices.Contains(foreign, name)
		}
		if !there {
			wrong = append(wrong, fmt.Errorf("%s: volume %s: there is no %s", p.name, v.Name, name))
		}
	}
	return errors.Join(wrong...)
}

// checkIngresses checks that an Ingress leads to a service, and that --allow-host of the page names its host.
func (c *cluster) checkIngresses() error {
	var wrong []error
	for name, i := range c.ingresses {
		for _, rule := range i.Spec.Rules {
			service := rule.HTTP.Paths[0].Backend.Service
			if s := c.services[service.Name]; s == nil || s.Spec.Ports[0].Name != service.Port.Name {
				wrong = append(wrong, fmt.Errorf("ingress %s leads to %+v, which is none of the services", name, service))
			}
			line, _ := c.line(c.pods()["load-loadctl-ui"])
			if line.value("--allow-host") != rule.Host {
				wrong = append(wrong, fmt.Errorf("ingress %s serves %s, and the page answers to %s", name, rule.Host, line.value("--allow-host")))
			}
		}
	}
	return errors.Join(wrong...)
}

// checkReach checks that the policies let a pod reach the chart's Redis, and nobody else.
func (c *cluster) checkReach(p pod) error {
	for _, policy := range c.policies {
		let := slices.ContainsFunc(policy.Spec.Ingress[0].From, func(peer networkingv1.NetworkPolicyPeer) bool { return p.selects(peer.PodSelector) })
		if redis := p.Labels["app.kubernetes.io/component"] == "redis"; let == redis {
			return fmt.Errorf("policy %s lets %s reach Redis: %v", policy.Name, p.name, let)
		} else if redis != p.selects(&policy.Spec.PodSelector) {
			return fmt.Errorf("policy %s is not one of Redis alone", policy.Name)
		}
	}
	return nil
}

// TestChartSays: what the values ask for is in the objects.
func TestChartSays(t *testing.T) {
	sets := valueSets(t)
	of := func(name string) *cluster {
		t.Helper()
		c, err := render(sets[name])
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := of("external-redis")
	if d := c.deployments["load-loadctl-worker"]; d == nil || *d.Spec.Replicas != 5 || len(c.jobs)+len(c.sets)+len(c.policies)+len(c.secrets) != 0 ||
		d.Spec.Template.Spec.Containers[0].Image != "loadctl:v1.2.3" {
		t.Errorf("external-redis: %+v", c)
	}
	c = of("gate")
	control, worker := c.jobs["load-loadctl-control-gate"].Spec, c.jobs["load-loadctl-worker-gate"].Spec
	if *control.ActiveDeadlineSeconds != 600 || *control.TTLSecondsAfterFinished != 86400 || *worker.ActiveDeadlineSeconds != 900 || *worker.TTLSecondsAfterFinished != 3600 {
		t.Errorf("gate: %+v, %+v", control, worker)
	}
	line, _ := c.line(c.pods()["load-loadctl-control-gate"])
	if line.value("--header") != "@/etc/loadctl/headers/headers" || line.value("--out") != "/report/gate.json" || c.claims["load-loadctl-report"] == nil {
		t.Errorf("gate: %q, %v", line, c.claims)
	}
	c = of("workload")
	file := filepath.Join(t.TempDir(), "workload.yaml")
	if err := os.WriteFile(file, []byte(c.configs["load-loadctl-shop"].Data["workload.yaml"]), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(image.program("loadctl"), "workload", "check", file).CombinedOutput(); err != nil || !strings.Contains(string(out), "login") {
		t.Errorf("workload: %v\n%s", err, out)
	}
	if line, _ := c.line(c.pods()["load-loadctl-control-shop"]); line.value("--workload") != "/etc/loadctl/run/workload.yaml" || line.value("--url") != "" {
		t.Errorf("workload: %q", line)
	}
}

// TestChartNames: names are good for a cluster, also where release, run and fleet are as large as they may be.
func TestChartNames(t *testing.T) {
	long := strings.Repeat("a", 25) + "." + strings.Repeat("b", 27) // 53 characters, which is the most that Helm takes
	for _, run := range []string{"", strings.Repeat("r", 25)} {
		values := map[string]any{
			"run": map[string]any{"name": run}, "workers": map[string]any{"replicas": 10000}, "report": map[string]any{"enabled": true},
			"ui": map[string]any{"enabled": true, "token": strings.Repeat("x", 16)},
		}
		c, err := renderAs(long, "1.2.3", util.MergeTables(values, valueSets(t)["minimal"]))
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for name, job := range c.jobs { // the last pod's name, and its label
			names = append(names, fmt.Sprintf("%s-%d", name, max(1, ptr(job.Spec.Completions))-1))
		}
		for name := range c.sets { // a label of its pods
			names = append(names, name+"-0123456789")
		}
		names = slices.AppendSeq(names, maps.Keys(c.services))
		names = slices.AppendSeq(names, maps.Keys(c.deployments))
		names = slices.AppendSeq(names, maps.Keys(c.secrets))
		names = slices.AppendSeq(names, maps.Keys(c.claims))
		if len(names) < 10 {
			t.Errorf("%q", names)
		}
		for _, name := range names {
			if wrong := validation.IsDNS1035Label(name); len(wrong) > 0 {
				t.Errorf("%s has %d characters: %s", name, len(name), wrong)
			}
		}
	}
}

func ptr[T any](p *T) (value T) {
	if p != nil {
		value = *p
	}
	return value
}

// TestChartQuotes: a text that looks like a number stays a text. The decoder refuses numbers where names belong.
func TestChartQuotes(t *testing.T) {
	const number = "123"
	values := map[string]any{
		"image":  map[string]any{"tag": number, "pullSecrets": []any{number}},
		"run":    map[string]any{"name": number, "headersSecret": map[string]any{"name": number, "key": number}, "authSecret": map[string]any{"name": number, "key": number}},
		"report": map[string]any{"enabled": true, "existingClaim": number}, "workers": map[string]any{"priorityClassName": number},
		"redis": map[string]any{"existingSecret": number, "storage": map[string]any{"size": number, "storageClassName": number}},
		"ui": map[string]any{"enabled": true, "existingSecret": number, "ingress": map[string]any{
			"enabled": true, "className": number, "host": "load.example.com", "tlsSecret": number,
		}},
	}
	c, err := renderAs(number, "1.2.3", util.MergeTables(values, valueSets(t)["minimal"]))
	if err != nil {
		t.Fatal(err)
	}
	if worker := c.jobs["123-loadctl-worker-123"]; worker == nil || worker.Labels["app.kubernetes.io/instance"] != number {
		t.Errorf("%v", slices.Collect(maps.Keys(c.jobs)))
	}
}

// TestChartRestarts: a new version of the chart alone restarts no pod that lives on, and a new password restarts all that have
// started with the old one.
func TestChartRestarts(t *testing.T) {
	all := map[string]any{"image": map[string]any{"tag": "v1"}, "workers": map[string]any{"kind": "Deployment"}, "ui": map[string]any{"enabled": true, "token": strings.Repeat("x", 16)}}
	templates := func(version, password string) map[string]corev1.PodTemplateSpec {
		t.Helper()
		values := util.MergeTables(map[string]any{"redis": map[string]any{"password": password}}, util.MergeTables(maps.Clone(all), valueSets(t)["minimal"]))
		c, err := renderAs("load", version, values)
		if err != nil {
			t.Fatal(err)
		}
		pods := map[string]corev1.PodTemplateSpec{}
		for name, p := range c.pods() {
			if p.selector != nil {
				pods[name] = p.PodTemplateSpec
			}
		}
		return pods
	}
	before, version, password := templates("1.2.3", "old"), templates("1.2.4", "old"), templates("1.2.3", "new")
	if len(before) != 4 {
		t.Errorf("%d pods live on", len(before))
	}
	for name := range before {
		if !reflect.DeepEqual(before[name], version[name]) {
			t.Errorf("a new version of the chart restarts %s", name)
		}
		if reflect.DeepEqual(before[name], password[name]) {
			t.Errorf("%s goes on with the old password", name)
		}
	}
}

// TestChartRefuses: values that cannot work are an error that says what to do.
func TestChartRefuses(t *testing.T) {
	for says, change := range map[string]map[string]any{
		"redis.password: choose one":             {"redis": map[string]any{"password": ""}},
		"workers.allowHosts: name the hosts":     {"workers": map[string]any{"allowHosts": []any{}}},
		"run.url: give the URL":                  {"run": map[string]any{"url": ""}},
		"run.url and run.workload: give one":     {"run": map[string]any{"workload": "flows: {}"}},
		"redis.url: give the URL of your Redis":  {"redis": map[string]any{"enabled": false}},
		"ui.ingress.host: name the host":         {"ui": map[string]any{"enabled": true, "token": strings.Repeat("x", 16), "ingress": map[string]any{"enabled": true}}},
		"ui.token: choose one":                   {"ui": map[string]any{"enabled": true}},
		"additional properties 'worker' not":     {"worker": map[string]any{"replicas": 3}},
		"additional properties 'replica' not":    {"workers": map[string]any{"replica": 3}},
		"'/workers/replicas'":                    {"workers": map[string]any{"replicas": "3"}},
		"'/workers/kind'":                        {"workers": map[string]any{"kind": "StatefulSet"}},
		"'/run/name'":                            {"run": map[string]any{"name": "A_B"}},
		"'/redis/password'":                      {"redis": map[string]any{"password": "p@ss"}},
		"'/ui/token'":                            {"ui": map[string]any{"token": "short"}},
		"'/workers/terminationGracePeriodSecond": {"workers": map[string]any{"terminationGracePeriodSeconds": 30}},
	} {
		if _, err := render(util.MergeTables(change, valueSets(t)["minimal"])); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v: want %q, got %v", change, says, err)
		}
	}
}

// TestChartIsAsTheExample: what the chart makes differs from examples/kubernetes in names alone. So the reasons that the
// example gives hold for both.
func TestChartIsAsTheExample(t *testing.T) {
	chart, err := render(util.MergeTables(map[string]any{"ui": map[string]any{"enabled": true, "token": strings.Repeat("x", 16)}}, valueSets(t)["minimal"]))
	if err != nil {
		t.Fatal(err)
	}
	example, err := newCluster(read(t, kubernetes+"*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for inChart, inExample := range map[string]string{
		"load-loadctl-redis": "redis", "load-loadctl-worker-load-1": "loadworker", "load-loadctl-control-load-1": "loadctl", "load-loadctl-ui": "ui",
	} {
		a, b := chart.pods()[inChart], example.pods()[inExample]
		one, other := a.container(), b.container()
		for what, pair := range map[string][2]any{
			"command": {one.Command, other.Command}, "probes": {[]any{one.ReadinessProbe, one.LivenessProbe}, []any{other.ReadinessProbe, other.LivenessProbe}},
			"resources": {one.Resources, other.Resources}, "privileges": {one.SecurityContext, other.SecurityContext}, "ports": {one.Ports, other.Ports},
			"grace": {a.Spec.TerminationGracePeriodSeconds, b.Spec.TerminationGracePeriodSeconds}, "restarts": {a.Spec.RestartPolicy, b.Spec.RestartPolicy},
			"flags": {flagsOf(one.Args), flagsOf(other.Args)}, "variables": {namesOf(one.Env), namesOf(other.Env)}, "mounts": {one.VolumeMounts, other.VolumeMounts},
		} {
			if !reflect.DeepEqual(pair[0], pair[1]) {
				t.Errorf("%s: %s is %v, and %v in the example", inChart, what, pair[0], pair[1])
			}
		}
	}
	if one, other := chart.jobs["load-loadctl-control-load-1"].Spec.PodFailurePolicy, example.jobs["loadctl"].Spec.PodFailurePolicy; !reflect.DeepEqual(one, other) {
		t.Errorf("failures: %v, and %v in the example", one, other)
	}
	if one, other := chart.pods()["load-loadctl-redis"].container().Args, example.pods()["redis"].container().Args; !slices.Equal(one, other) {
		t.Errorf("redis: %q, and %q in the example", one, other)
	}
}

// flagsOf returns the flags of a command line, sorted.
func flagsOf(args []string) []string {
	flags := slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return !strings.HasPrefix(arg, "-") })
	slices.Sort(flags)
	return slices.Compact(flags)
}

func namesOf(env []corev1.EnvVar) (names []string) {
	for _, e := range env {
		names = append(names, e.Name)
	}
	return names
}
