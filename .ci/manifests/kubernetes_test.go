package manifests

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

const kubernetes = "examples/kubernetes/"

// cluster is what the manifests describe.
type cluster struct {
	kustomization kustomization
	namespaces    map[string]*corev1.Namespace
	secrets       map[string]*corev1.Secret
	services      map[string]*corev1.Service
	policies      map[string]*networkingv1.NetworkPolicy
	sets          map[string]*appsv1.StatefulSet
	deployments   map[string]*appsv1.Deployment
	jobs          map[string]*batchv1.Job
	configs       map[string]*corev1.ConfigMap
	claims        map[string]*corev1.PersistentVolumeClaim
	ingresses     map[string]*networkingv1.Ingress
}

func emptyCluster() *cluster {
	return &cluster{
		namespaces: map[string]*corev1.Namespace{}, secrets: map[string]*corev1.Secret{}, services: map[string]*corev1.Service{},
		policies: map[string]*networkingv1.NetworkPolicy{}, sets: map[string]*appsv1.StatefulSet{},
		deployments: map[string]*appsv1.Deployment{}, jobs: map[string]*batchv1.Job{},
		configs: map[string]*corev1.ConfigMap{}, claims: map[string]*corev1.PersistentVolumeClaim{}, ingresses: map[string]*networkingv1.Ingress{},
	}
}

// kustomization is as much of a kustomization.yaml as ours may use.
type kustomization struct {
	metav1.TypeMeta `json:",inline"`
	Namespace       string   `json:"namespace"`
	Resources       []string `json:"resources"`
	Images          []struct {
		Name    string `json:"name"`
		NewName string `json:"newName"`
		NewTag  string `json:"newTag"`
	} `json:"images"`
}

// newCluster decodes all that kustomization.yaml names, as strictly as the API server with fieldValidation=Strict:
// unknown and repeated fields are errors, and upper and lower case differ.
func newCluster(f files) (*cluster, error) {
	c := emptyCluster()
	if err := decode(f[kubernetes+"kustomization.yaml"], &c.kustomization); err != nil {
		return nil, fmt.Errorf("kustomization.yaml: %w", err)
	}
	for name := range f {
		if base := path.Base(name); base != "kustomization.yaml" && !slices.Contains(c.kustomization.Resources, base) {
			return nil, fmt.Errorf("kustomization.yaml does not name %s", base)
		}
	}
	for _, name := range c.kustomization.Resources {
		text, ok := f[kubernetes+name]
		if !ok {
			return nil, fmt.Errorf("kustomization.yaml names %s, which there is not", name)
		}
		for document := range strings.SplitSeq(text, "\n---\n") {
			if err := c.add(document); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return c, nil
}

func (c *cluster) add(document string) error {
	var kind metav1.TypeMeta
	if err := yaml.Unmarshal([]byte(document), &kind); err != nil {
		return err
	}
	switch kind.APIVersion + " " + kind.Kind {
	case "v1 Namespace":
		return add(c.namespaces, document)
	case "v1 Secret":
		return add(c.secrets, document)
	case "v1 Service":
		return add(c.services, document)
	case "networking.k8s.io/v1 NetworkPolicy":
		return add(c.policies, document)
	case "apps/v1 StatefulSet":
		return add(c.sets, document)
	case "apps/v1 Deployment":
		return add(c.deployments, document)
	case "batch/v1 Job":
		return add(c.jobs, document)
	case "v1 ConfigMap":
		return add(c.configs, document)
	case "v1 PersistentVolumeClaim":
		return add(c.claims, document)
	case "networking.k8s.io/v1 Ingress":
		return add(c.ingresses, document)
	default:
		return fmt.Errorf("apiVersion %q and kind %q are nothing that this test knows", kind.APIVersion, kind.Kind)
	}
}

// add decodes an object into the map of its kind.
func add[T any, P interface {
	*T
	metav1.Object
}](all map[string]P, document string) error {
	object := P(new(T))
	if err := decode(document, object); err != nil {
		return err
	}
	name := object.GetName()
	switch {
	case name == "":
		return fmt.Errorf("%T without a name", object)
	case all[name] != nil:
		return fmt.Errorf("%T %s is there twice", object, name)
	case object.GetNamespace() != "":
		return fmt.Errorf("%T %s names a namespace, which kustomization.yaml does for all", object, name)
	}
	all[name] = object
	return nil
}

func decode(document string, into any) error {
	text, err := yaml.YAMLToJSONStrict([]byte(document))
	if err != nil {
		return err
	}
	strict, err := json.UnmarshalStrict(text, into)
	return errors.Join(append(strict, err)...)
}

func TestKubernetes(t *testing.T) {
	good := read(t, kubernetes+"*.yaml")
	if err := checkKubernetes(good); err != nil {
		t.Error(err)
	}
	worker, redis, run, target := kubernetes+"worker.yaml", kubernetes+"redis.yaml", kubernetes+"run.yaml", kubernetes+"target.yaml"
	kustomization, secret, ui := kubernetes+"kustomization.yaml", kubernetes+"secret.yaml", kubernetes+"ui.yaml"
	refuses(t, good, checkKubernetes, []mistake{
		// what a strict decoder finds
		{worker, "restartPolicy:", "restartpolicy:", `unknown field "spec.template.spec.restartpolicy"`},
		{worker, "image: loadctl", "images: loadctl", `unknown field "spec.template.spec.containers[0].images"`},
		{worker, "parallelism: 3", "parallelism: three", "cannot unmarshal string"},
		{worker, "parallelism: 3", "parallelism: 3\n  parallelism: 3", `key "parallelism" already set`},
		{worker, "batch/v1", "batch/v2", `apiVersion "batch/v2"`},
		{worker, "cpu: 250m", "cpu: a quarter", "quantities must match"},
		{kustomization, "namespace:", "namespaces:", `unknown field "namespaces"`},
		{kustomization, "  - run.yaml\n", "", "does not name run.yaml"},
		{kustomization, "- run.yaml", "- runs.yaml", "kustomization.yaml"},
		// names
		{redis, "kind: StatefulSet\nmetadata:\n  name: redis", "kind: StatefulSet\nmetadata:\n  name: redis\n  namespace: x", "names a namespace"},
		{kustomization, "namespace: loadctl", "namespace: default", "there is no namespace default"},
		{redis, "selector:\n    app.kubernetes.io/name: redis", "selector:\n    app: redis", "service redis selects no pod"},
		{redis, "targetPort: redis", "targetPort: rediss", "service redis: no container has port rediss"},
		{redis, "matchLabels:\n      app.kubernetes.io/name: redis\n  template", "matchLabels:\n      app: redis\n  template", "selects other pods than its own"},
		{redis, "serviceName: redis", "serviceName: reddis", "reddis"},
		{redis, "mountPath: /data", "mountPath: /data\n            - name: more\n              mountPath: /more", "there is no volume more"},
		{worker, "name: redis\n                  key: url", "name: redis\n                  key: uri", "there is no uri in secret redis"},
		{run, "name: redis\n                  key: url", "name: reddis\n                  key: url", "there is no url in secret reddis"},
		{worker, "target:8080", "targets:8080", "there is no service targets"},
		{secret, "@redis:6379", "@redis:6380", "service redis has no port 6380"},
		{secret, "password: <PASSWORD>", "password: <SECRET>", "is not the password in"},
		{worker, "$(POD_NAME)", "$(POD)", "there is no variable POD"},
		// privileges and resources
		{worker, "runAsNonRoot: true", "runAsNonRoot: false", "may be root"},
		{worker, "runAsUser: 65532", "runAsUser: 0", "may be root"},
		{run, "readOnlyRootFilesystem: true", "readOnlyRootFilesystem: false", "may write"},
		{redis, "allowPrivilegeEscalation: false", "privileged: true", "has privileges"},
		{target, "drop: [ALL]", "drop: [NET_RAW]", "has privileges"},
		{target, "type: RuntimeDefault", "type: Unconfined", "any system call"},
		{run, "automountServiceAccountToken: false", "automountServiceAccountToken: true", "token"},
		{worker, "limits:\n              memory: 512Mi", "limits: {}", "no limit"},
		{worker, "image: loadctl", "image: example.com/other", "image example.com/other"},
		{kustomization, "name: loadctl\n    newName", "name: loadctrl\n    newName", "image loadctl"},
		{redis, "image: redis:7.4", "image: redis:latest", "image redis:latest"},
		// probes
		{redis, "readinessProbe:", "startupProbe:", "redis has no readiness probe"},
		{worker, "livenessProbe:", "startupProbe:", "loadworker has no liveness probe"},
		{worker, "command: [loadworker, --version]", "command: [loadctl, workers, first]", "asks Redis"},
		{worker, "command: [loadworker, --version]", "command: [loadworker, --alive]", "has no flag --alive"},
		{redis, "command: [redis-cli, -e, ping]", "command: [redis-cli, ping]", "does not fail on an error"},
		// the live page
		{ui, "--metrics-token-file", "--metrics-token", "has no flag --metrics-token"},
		{ui, "targetPort: http", "targetPort: https", "service ui: no container has port https"},
		{ui, "name: state\n          emptyDir", "name: states\n          emptyDir", "there is no volume state"},
		{ui, "name: redis\n                  key: url", "name: ui\n                  key: url", "there is no url in secret ui"},
		{ui, "defaultMode: 0440", "defaultMode: 0444", "everybody may read volume token"},
		{ui, "readOnlyRootFilesystem: true", "readOnlyRootFilesystem: false", "ui may write"},
		// the fleet
		{worker, "restartPolicy: OnFailure", "restartPolicy: Always", "restartPolicy Always"},
		{worker, "backoffLimit: 1000", "backoffLimit: 6", "backoffLimit 6"},
		{worker, "completions: 3", "completions: 4", "4 completions"},
		{worker, "terminationGracePeriodSeconds: 60", "terminationGracePeriodSeconds: 30", "killed after 30s"},
		{worker, "--id, $(POD_NAME)", "--id, worker", "the same --id"},
		{worker, "--run, first", "--run, second", "the workers join"},
		{run, `--min-workers, "3"`, `--min-workers, "4"`, "waits for 4 workers"},
		{run, "http://target:8080/", "http://redis:6379/", "fires at"},
		{run, "--duration, 1m", "--durations, 1m", "has no flag --durations"},
		// Redis
		{redis, "- noeviction", "- volatile-lru", "--maxmemory-policy"},
		{redis, "- --requirepass\n            - $(REDISCLI_AUTH)\n", "", "without a password"},
		{redis, "384mb", "512mb", "--maxmemory"},
		{redis, "mountPath: /data", "mountPath: /dat", "/data is no volume"},
		{redis, "values: [loadworker, loadctl, loadctl-ui]", "values: [loadworker, loadctl, loadctl-ui, target]", "lets target reach Redis"},
		{redis, "values: [loadworker, loadctl, loadctl-ui]", "values: [loadctl, loadctl-ui]", "keeps loadworker from Redis"},
		{redis, "values: [loadworker, loadctl, loadctl-ui]", "values: [loadworker, loadctl]", "keeps ui from Redis"},
		{redis, "podSelector:\n    matchLabels:\n      app.kubernetes.io/name: redis", "podSelector:\n    matchLabels:\n      app: redis", "no policy"},
	})
}
