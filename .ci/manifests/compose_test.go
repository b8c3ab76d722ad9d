package manifests

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
)

const composeFile = "examples/compose/compose.yaml"

func TestCompose(t *testing.T) {
	good := read(t, composeFile)
	if err := checkCompose(good); err != nil {
		t.Error(err)
	}
	refuses(t, good, checkCompose, []mistake{
		{composeFile, "healthcheck:", "healthchek:", "healthchek"},
		{composeFile, "interval: 1s", "interval: soon", "soon"},
		{composeFile, "networks: [redis, target]", "networks: [redis, targets]", "undefined network targets"},
		{composeFile, "target: { condition: service_started }", "targets: { condition: service_started }", "undefined service"},
		{composeFile, "target: { condition: service_started }", "target: { condition: service_ready }", "must be one of"},
		{composeFile, "target: { condition: service_started }", "target: { condition: service_healthy }", "target has no healthcheck"},
		{composeFile, "redis: { condition: service_healthy }", "redis: { condition: service_started }", "worker does not wait"},
		{composeFile, "- noeviction", "- allkeys-lru", "--maxmemory-policy"},
		{composeFile, "image: redis:7.4", "image: redis:7.4\n    ports: [\"6379:6379\"]", "redis can be reached from outside"},
		{composeFile, "networks: [target]", "networks: [target, redis]", "target can reach redis"},
		{composeFile, "image: redis:7.4", "image: redis", "no tag"},
		{composeFile, "context: ../..", "context: ..", "no Dockerfile"},
		{composeFile, "read_only: true", "read_only: false", "may write"},
		{composeFile, "entrypoint: [loadworker]", "entrypoint: [loadctl]", "has no flag --run"},
		{composeFile, "[target, --listen,", "[target, --listens,", "has no flag --listens"},
		{composeFile, "environment: *redis\n    networks: [redis]", "networks: [redis]", "control has no LOADCTL_REDIS"},
		{composeFile, "redis://redis:6379", "redis://reddis:6379", "redis://reddis:6379"},
		{composeFile, "stop_grace_period: 60s", "stop_grace_period: 10s", "killed after 10s"},
		{composeFile, "restart: on-failure", "restart: always", "restart: always"},
		{composeFile, "replicas: ${WORKERS:-3}", "replicas: ${WORKERS:-2}", "waits for 3 workers"},
		{composeFile, `--run, "${RUN:-first}"`, `--run, "${RUN:-second}"`, "the workers join"},
		{composeFile, `--allow-hosts, "target:8080"`, `--allow-hosts, "targets:8080"`, "fires at"},
	})
}

// TestComposeVariables: RUN and WORKERS reach everybody whom they concern.
func TestComposeVariables(t *testing.T) {
	p, err := project(read(t, composeFile), types.Mapping{"RUN": "second", "WORKERS": "5"})
	if err != nil {
		t.Fatal(err)
	}
	worker := p.Services["worker"]
	if err := checkFleet(line(p.Services["control"]), line(worker), worker.GetScale()); err != nil {
		t.Error(err)
	}
	if run := line(worker).runs(); run != "second" || worker.GetScale() != 5 {
		t.Errorf("%d workers of run %s", worker.GetScale(), run)
	}
}

// project loads the file as Compose does: it checks it against its schema, and the names in it against each other.
func project(f files, env types.Mapping) (*types.Project, error) {
	dir, err := filepath.Abs(filepath.Join(root, filepath.Dir(composeFile)))
	if err != nil {
		return nil, err
	}
	return loader.LoadWithContext(context.Background(), types.ConfigDetails{
		WorkingDir:  dir,
		ConfigFiles: []types.ConfigFile{{Filename: filepath.Join(dir, filepath.Base(composeFile)), Content: []byte(f[composeFile])}},
		Environment: env,
	})
}

// line is what a container of a service runs.
func line(s types.ServiceConfig) commandLine {
	if s.Build == nil || len(s.Entrypoint) > 0 {
		return commandLine(slices.Concat(s.Entrypoint, s.Command))
	}
	return append(commandLine{image.starts}, s.Command...)
}

func checkCompose(f files) error {
	p, err := project(f, nil)
	if err != nil {
		return err
	}
	var wrong []error
	for _, name := range []string{"redis", "target", "worker", "control"} {
		s, ok := p.Services[name]
		if !ok {
			return fmt.Errorf("there is no service %s", name)
		}
		for on, d := range s.DependsOn {
			if d.Condition == types.ServiceConditionHealthy && p.Services[on].HealthCheck == nil {
				wrong = append(wrong, fmt.Errorf("%s waits until %s is healthy, but %s has no healthcheck", name, on, on))
			}
		}
		if name != "redis" {
			wrong = append(wrong, checkOurs(s), line(s).check())
		}
	}
	redis, target, worker, control := p.Services["redis"], p.Services["target"], p.Services["worker"], p.Services["control"]
	for _, s := range []types.ServiceConfig{worker, control} {
		if s.DependsOn["redis"].Condition != types.ServiceConditionHealthy {
			wrong = append(wrong, fmt.Errorf("%s does not wait until redis is healthy", s.Name))
		}
		if url := s.Environment["LOADCTL_REDIS"]; url == nil {
			wrong = append(wrong, fmt.Errorf("%s has no LOADCTL_REDIS", s.Name))
		} else if *url != "redis://redis:6379" {
			wrong = append(wrong, fmt.Errorf("%s looks for Redis at %s", s.Name, *url))
		}
	}
	if worker.Restart != types.RestartPolicyOnFailure {
		wrong = append(wrong, fmt.Errorf("a worker that has ended well is started again: restart: %s", worker.Restart))
	}
	if worker.StopGracePeriod == nil {
		wrong = append(wrong, errors.New("worker has no stop_grace_period"))
	} else {
		wrong = append(wrong, checkGrace(time.Duration(*worker.StopGracePeriod)))
	}
	wrong = append(wrong, checkIsolation(redis, target), checkRedis(line(redis)), checkFleet(line(control), line(worker), worker.GetScale()))
	return errors.Join(wrong...)
}

// checkIsolation checks that nobody but our own reaches Redis.
func checkIsolation(redis, target types.ServiceConfig) error {
	if tag := filepath.Base(redis.Image); tag == "redis" || tag == "redis:latest" {
		return fmt.Errorf("image %s has no tag", redis.Image)
	}
	if len(redis.Ports) > 0 || redis.NetworkMode != "" {
		return errors.New("redis can be reached from outside")
	}
	for network := range redis.Networks {
		if _, ok := target.Networks[network]; ok {
			return fmt.Errorf("target can reach redis in network %s", network)
		}
	}
	return nil
}

// checkOurs checks a service that runs our image.
func checkOurs(s types.ServiceConfig) error {
	var wrong []error
	if s.Build == nil {
		return fmt.Errorf("%s is not built", s.Name)
	}
	if _, err := os.Stat(filepath.Join(s.Build.Context, s.Build.Dockerfile)); err != nil {
		wrong = append(wrong, fmt.Errorf("%s: no Dockerfile: %w", s.Name, err))
	}
	if !s.ReadOnly || s.Privileged || !slices.Contains(s.CapDrop, "ALL") || !slices.Contains(s.SecurityOpt, "no-new-privileges:true") {
		wrong = append(wrong, fmt.Errorf("%s may write, or has privileges: read_only, cap_drop: [ALL] and no-new-privileges", s.Name))
	}
	return errors.Join(wrong...)
}
