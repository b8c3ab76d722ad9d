package manifests

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// checkKubernetes checks what no decoder knows: whether the objects fit together, and are what we want them to be.
func checkKubernetes(f files) error {
	c, err := newCluster(f)
	if err != nil {
		return err
	}
	wrong := []error{c.checkNames(), c.checkRedis(), c.checkJobs()}
	for _, name := range []string{"redis", "target", "loadworker", "loadctl", "ui"} {
		p, ok := c.pods()[name]
		if !ok {
			return fmt.Errorf("there is no pod %s", name)
		}
		wrong = append(wrong, c.checkReferences(p), c.checkHosts(p), c.checkImage(p), checkPrivileges(p), checkProbes(p), c.checkCommand(p))
	}
	return errors.Join(wrong...)
}

// pod is a pod as its owner describes it, with one container.
type pod struct {
	name     string
	selector *metav1.LabelSelector // nil for a Job, which makes its own
	claims   []corev1.PersistentVolumeClaim
	corev1.PodTemplateSpec
}

func (p pod) container() corev1.Container { return p.Spec.Containers[0] }

// selects reports whether a selector means the pod.
func (p pod) selects(s *metav1.LabelSelector) bool {
	selector, err := metav1.LabelSelectorAsSelector(s)
	return err == nil && selector.Matches(labels.Set(p.Labels))
}

func (c *cluster) pods() map[string]pod {
	all := map[string]pod{}
	for name, s := range c.sets {
		all[name] = pod{name: name, selector: s.Spec.Selector, claims: s.Spec.VolumeClaimTemplates, PodTemplateSpec: s.Spec.Template}
	}
	for name, d := range c.deployments {
		all[name] = pod{name: name, selector: d.Spec.Selector, PodTemplateSpec: d.Spec.Template}
	}
	for name, j := range c.jobs {
		all[name] = pod{name: name, PodTemplateSpec: j.Spec.Template}
	}
	for name, p := range all {
		if len(p.Spec.Containers) != 1 || len(p.Spec.InitContainers) > 0 {
			delete(all, name) // is missed where it is looked for
		}
	}
	return all
}

// checkNames checks that what is named by others exists.
func (c *cluster) checkNames() error {
	var wrong []error
	if c.namespaces[c.kustomization.Namespace] == nil {
		wrong = append(wrong, fmt.Errorf("there is no namespace %s", c.kustomization.Namespace))
	}
	return errors.Join(append(wrong, c.checkServices())...)
}

// checkServices checks that each service has one pod, and each set its service.
func (c *cluster) checkServices() error {
	var wrong []error
	for name, s := range c.services {
		found := 0
		for _, p := range c.pods() {
			if len(s.Spec.Selector) == 0 || !p.selects(&metav1.LabelSelector{MatchLabels: s.Spec.Selector}) {
				continue
			}
			found++
			for _, port := range s.Spec.Ports {
				if !slices.ContainsFunc(p.container().Ports, func(has corev1.ContainerPort) bool { return has.Name == port.TargetPort.String() }) {
					wrong = append(wrong, fmt.Errorf("service %s: no container has port %s", name, port.TargetPort.String()))
				}
			}
		}
		if found != 1 {
			wrong = append(wrong, fmt.Errorf("service %s selects no pod, or several", name))
		}
	}
	for name, s := range c.sets {
		if c.services[s.Spec.ServiceName] == nil {
			wrong = append(wrong, fmt.Errorf("statefulset %s: there is no service %s", name, s.Spec.ServiceName))
		}
	}
	return errors.Join(wrong...)
}

// host finds the services in URLs and lists of hosts.
var host = regexp.MustCompile(`(?:^|[@/,])([a-z][a-z0-9-]*):([0-9]+)`)

// checkReferences checks what a pod refers to: its labels, secrets, variables and volumes.
func (c *cluster) checkReferences(p pod) error {
	var wrong []error
	if p.selector != nil && !p.selects(p.selector) {
		wrong = append(wrong, fmt.Errorf("%s selects other pods than its own", p.name))
	}
	_, err := c.line(p)
	wrong = append(wrong, err)
	volumes := map[string]bool{}
	for _, v := range p.Spec.Volumes {
		volumes[v.Name] = true
	}
	for _, v := range p.claims {
		volumes[v.Name] = true
	}
	for _, m := range p.container().VolumeMounts {
		if !volumes[m.Name] {
			wrong = append(wrong, fmt.Errorf("%s: there is no volume %s", p.name, m.Name))
		}
	}
	return errors.Join(wrong...)
}

// checkHosts checks that the services exist which a pod calls.
func (c *cluster) checkHosts(p pod) error {
	var wrong []error
	env, _ := c.env(p) // checkReferences reports errors
	args, _ := c.line(p)
	for _, text := range slices.Concat(args, slices.Collect(maps.Values(env))) {
		for _, m := range host.FindAllStringSubmatch(text, -1) {
			wrong = append(wrong, c.checkService(m[1], m[2]))
		}
	}
	return errors.Join(wrong...)
}

func (c *cluster) checkService(name, port string) error {
	s := c.services[name]
	if s == nil {
		return fmt.Errorf("there is no service %s", name)
	}
	if !slices.ContainsFunc(s.Spec.Ports, func(p corev1.ServicePort) bool { return strconv.Itoa(int(p.Port)) == port }) {
		return fmt.Errorf("service %s has no port %s", name, port)
	}
	return nil
}

// env is the environment of a pod's container. What only a cluster knows has the name of its field.
func (c *cluster) env(p pod) (map[string]string, error) {
	all := map[string]string{}
	var wrong []error
	for _, e := range p.container().Env {
		switch from := e.ValueFrom; {
		case from == nil:
			all[e.Name] = e.Value
		case from.SecretKeyRef != nil:
			secret := c.secrets[from.SecretKeyRef.Name]
			if secret == nil || secret.StringData[from.SecretKeyRef.Key] == "" {
				wrong = append(wrong, fmt.Errorf("%s: there is no %s in secret %s", p.name, from.SecretKeyRef.Key, from.SecretKeyRef.Name))
				continue
			}
			all[e.Name] = secret.StringData[from.SecretKeyRef.Key]
		case from.FieldRef != nil:
			all[e.Name] = from.FieldRef.FieldPath
		case from.ResourceFieldRef != nil:
			all[e.Name] = from.ResourceFieldRef.Resource
		}
	}
	return all, errors.Join(wrong...)
}

// line is the command line of a pod's container, with $(NAME) in place of variables as Kubernetes does it.
func (c *cluster) line(p pod) (commandLine, error) {
	env, err := c.env(p)
	wrong := []error{err}
	var line commandLine
	for _, arg := range slices.Concat(p.container().Command, p.container().Args) {
		line = append(line, regexp.MustCompile(`\$\([^)]*\)`).ReplaceAllStringFunc(arg, func(ref string) string {
			value, ok := env[ref[2:len(ref)-1]]
			if !ok {
				wrong = append(wrong, fmt.Errorf("%s: there is no variable %s", p.name, ref[2:len(ref)-1]))
			}
			return value
		}))
	}
	return line, errors.Join(wrong...)
}

// checkImage checks that there are no images but ours, which kustomization.yaml replaces, and a certain Redis; and what
// a container may use.
func (c *cluster) checkImage(p pod) error {
	var wrong []error
	used := p.container().Image
	ours := len(c.kustomization.Images) == 1 && c.kustomization.Images[0].Name == used && used == "loadctl"
	if !ours && !regexp.MustCompile(`^redis:\d+\.\d+$`).MatchString(used) {
		wrong = append(wrong, fmt.Errorf("%s: image %s is neither ours, which kustomization.yaml names, nor redis:VERSION", p.name, used))
	}
	r := p.container().Resources
	if r.Limits.Memory().IsZero() || r.Requests.Memory().IsZero() || r.Requests.Cpu().IsZero() {
		wrong = append(wrong, fmt.Errorf("%s: no limit of the memory, or no requests", p.name))
	}
	return errors.Join(wrong...)
}

// checkPrivileges asks for no less than the Pod Security Standard "restricted", and for a root filesystem that is
// read-only.
func checkPrivileges(p pod) error {
	var wrong []error
	is := func(b *bool, want bool) bool { return b != nil && *b == want }
	all, own := p.Spec.SecurityContext, p.container().SecurityContext
	if all == nil || own == nil {
		return fmt.Errorf("%s has no security context", p.name)
	}
	if !is(all.RunAsNonRoot, true) || own.RunAsNonRoot != nil || all.RunAsUser == nil || *all.RunAsUser == 0 || own.RunAsUser != nil {
		wrong = append(wrong, fmt.Errorf("%s may be root", p.name))
	}
	if all.SeccompProfile == nil || all.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault || own.SeccompProfile != nil {
		wrong = append(wrong, fmt.Errorf("%s may use any system call", p.name))
	}
	if !is(own.ReadOnlyRootFilesystem, true) {
		wrong = append(wrong, fmt.Errorf("%s may write", p.name))
	}
	dropped := own.Capabilities != nil && slices.Equal(own.Capabilities.Drop, []corev1.Capability{"ALL"}) && len(own.Capabilities.Add) == 0
	if !dropped || !is(own.AllowPrivilegeEscalation, false) || own.Privileged != nil || p.Spec.HostNetwork || p.Spec.HostPID || p.Spec.HostIPC {
		wrong = append(wrong, fmt.Errorf("%s has privileges", p.name))
	}
	if !is(p.Spec.AutomountServiceAccountToken, false) {
		wrong = append(wrong, fmt.Errorf("%s has a token of the API server, which it does not need", p.name))
	}
	for _, v := range p.Spec.Volumes {
		if v.Secret != nil && (v.Secret.DefaultMode == nil || *v.Secret.DefaultMode != 0o440 || all.FSGroup == nil) {
			wrong = append(wrong, fmt.Errorf("%s: everybody may read volume %s, or nobody: it needs defaultMode 0440 and an fsGroup", p.name, v.Name))
		}
	}
	return errors.Join(wrong...)
}

// checkProbes asks for probes where something serves, and where many workers have to stay: loadctl ends by itself.
func checkProbes(p pod) error {
	var wrong []error
	ready, live := p.container().ReadinessProbe, p.container().LivenessProbe
	if len(p.container().Ports) > 0 && ready == nil {
		wrong = append(wrong, fmt.Errorf("%s has no readiness probe", p.name))
	}
	if p.name != "loadctl" && live == nil {
		wrong = append(wrong, fmt.Errorf("%s has no liveness probe", p.name))
	}
	for _, probe := range []*corev1.Probe{ready, live} {
		if probe == nil || probe.Exec == nil {
			continue
		}
		line := commandLine(probe.Exec.Command)
		switch {
		case path.Base(line[0]) == "redis-cli":
			if probe == ready && !slices.Contains(line, "-e") {
				wrong = append(wrong, fmt.Errorf("%s: the readiness probe does not fail on an error in reply", p.name))
			}
		case len(line) != 2 || !strings.HasPrefix(line[1], "--"):
			wrong = append(wrong, fmt.Errorf("%s: the probe %q asks Redis, once for each of hundreds of workers", p.name, line))
		default:
			wrong = append(wrong, line.check())
		}
	}
	return errors.Join(wrong...)
}

// checkCommand compares the command line of our image with its help.
func (c *cluster) checkCommand(p pod) error {
	if p.container().Image != "loadctl" {
		return nil
	}
	if len(p.container().Command) == 0 {
		return fmt.Errorf("%s: say which command it is", p.name)
	}
	return commandLine(slices.Concat(p.container().Command, p.container().Args)).check()
}

// checkJobs checks the fleet and its run.
func (c *cluster) checkJobs() error {
	worker, control := c.jobs["loadworker"], c.jobs["loadctl"]
	if worker == nil || control == nil {
		return errors.New("there is no job loadworker, or no job loadctl")
	}
	var wrong []error
	for name, job := range c.jobs {
		if policy := job.Spec.Template.Spec.RestartPolicy; policy != corev1.RestartPolicyNever && policy != corev1.RestartPolicyOnFailure {
			wrong = append(wrong, fmt.Errorf("job %s: restartPolicy %s is none for what ends", name, policy))
		}
	}
	spec := worker.Spec
	if spec.Parallelism == nil || spec.Completions == nil || spec.BackoffLimit == nil || spec.CompletionMode == nil || spec.Template.Spec.TerminationGracePeriodSeconds == nil {
		return errors.New("loadworker needs parallelism, completions, completionMode, backoffLimit and terminationGracePeriodSeconds")
	}
	if *spec.Parallelism != *spec.Completions || *spec.CompletionMode != "Indexed" {
		wrong = append(wrong, fmt.Errorf("%d workers at a time and %d completions, %s: only an Indexed job that has as many of both can grow", *spec.Parallelism, *spec.Completions, *spec.CompletionMode))
	}
	if *spec.BackoffLimit < 100**spec.Completions {
		wrong = append(wrong, fmt.Errorf("backoffLimit %d: a few restarts each would end the fleet", *spec.BackoffLimit))
	}
	wrong = append(wrong, checkGrace(time.Duration(*spec.Template.Spec.TerminationGracePeriodSeconds)*time.Second))
	lines := map[string]commandLine{}
	for _, name := range []string{"loadworker", "loadctl"} {
		p := c.pods()[name]
		if p.name == "" {
			return fmt.Errorf("%s is not one container", name)
		}
		lines[name], _ = c.line(p) // checkReferences reports errors
	}
	if lines["loadworker"].value("--id") != "metadata.name" {
		wrong = append(wrong, errors.New("all workers would have the same --id: give the name of the pod"))
	}
	wrong = append(wrong, checkFleet(lines["loadctl"], lines["loadworker"], int(*spec.Completions)))
	return errors.Join(wrong...)
}

// checkRedis checks the settings of Redis, and who reaches it.
func (c *cluster) checkRedis() error {
	p := c.pods()["redis"]
	secret := c.secrets["redis"]
	if p.name == "" || secret == nil {
		return errors.New("there is no pod redis of one container, or no secret redis")
	}
	line, _ := c.line(p) // checkReferences reports errors
	wrong := []error{checkRedis(line), c.checkPolicy(p)}
	password := secret.StringData["password"]
	if line.value("--requirepass") != password || password == "" {
		wrong = append(wrong, errors.New("redis-server runs without a password, or with another one"))
	}
	if !strings.Contains(secret.StringData["url"], ":"+password+"@") {
		wrong = append(wrong, errors.New("the password of secret redis is not the password in its url"))
	}
	most, err := strconv.ParseInt(strings.TrimSuffix(line.value("--maxmemory"), "mb"), 10, 64)
	limits := p.container().Resources.Limits
	limit := limits.Memory()
	if err != nil || resource.NewQuantity(most*5/4<<20, resource.BinarySI).Cmp(*limit) > 0 {
		wrong = append(wrong, fmt.Errorf("--maxmemory %s leaves no quarter of its size below the limit of the container, %v", line.value("--maxmemory"), limit))
	}
	if !slices.ContainsFunc(p.container().VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == line.value("--dir") }) {
		wrong = append(wrong, fmt.Errorf("%s is no volume: what Redis writes would be lost", line.value("--dir")))
	}
	return errors.Join(wrong...)
}

// checkPolicy checks that workers and loadctl reach Redis, and nobody else does.
func (c *cluster) checkPolicy(redis pod) error {
	for _, policy := range c.policies {
		if !redis.selects(&policy.Spec.PodSelector) {
			continue
		}
		var wrong []error
		for name, p := range c.pods() {
			let := false
			for _, rule := range policy.Spec.Ingress {
				let = let || len(rule.From) == 0 || slices.ContainsFunc(rule.From, func(peer networkingv1.NetworkPolicyPeer) bool {
					return peer.PodSelector != nil && peer.NamespaceSelector == nil && p.selects(peer.PodSelector)
				})
			}
			_, needs := map[string]bool{"loadworker": true, "loadctl": true, "ui": true}[name]
			switch {
			case let && !needs:
				wrong = append(wrong, fmt.Errorf("policy %s lets %s reach Redis", policy.Name, name))
			case !let && needs:
				wrong = append(wrong, fmt.Errorf("policy %s keeps %s from Redis", policy.Name, name))
			}
		}
		return errors.Join(wrong...)
	}
	return errors.New("no policy says who may reach Redis")
}
