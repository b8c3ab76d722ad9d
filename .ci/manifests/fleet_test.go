package manifests

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// fleet is a load test as manifests describe it: what its containers run, with the addresses of the manifests.
type fleet struct {
	redis, ready    commandLine // the server, and the probe that says whether it is
	target          commandLine
	worker, control commandLine
	workers         int
	url             string // LOADCTL_REDIS
	auth            string // REDISCLI_AUTH, for the probe
}

// password stands in for the <PASSWORD> that users have to replace.
const password = "s3cret"

// TestFleets runs the command lines of the manifests as processes: a real Redis, a target, workers, and a run of 2 s.
func TestFleets(t *testing.T) {
	slow := composeFleet(t)
	slow.control = append(slow.control, "--qps", "200") // the last one counts
	for name, c := range map[string]struct {
		fleet fleet
		says  string
	}{
		"compose":         {composeFleet(t), ""},
		"kubernetes":      {kubernetesFleet(t), ""},
		"chart":           {chartFleet(t), ""},
		"systemd":         {systemdFleet(t), ""},
		"another rate":    {slow, "asked 400"},
		"without a Redis": {fleet{redis: commandLine{"true"}, ready: slow.ready}, "is never ready"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := c.fleet.run(t)
			if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("want %q, got %v", c.says, err)
			}
		})
	}
}

func composeFleet(t *testing.T) fleet {
	p, err := project(read(t, composeFile), nil)
	if err != nil {
		t.Fatal(err)
	}
	redis, worker := p.Services["redis"], p.Services["worker"]
	return fleet{
		redis: line(redis), ready: commandLine(redis.HealthCheck.Test[1:]), target: line(p.Services["target"]),
		worker: line(worker), control: line(p.Services["control"]), workers: worker.GetScale(), url: *worker.Environment["LOADCTL_REDIS"],
	}
}

// chartFleet has no target: a cluster has one.
func chartFleet(t *testing.T) fleet {
	c, err := render(valueSets(t)["minimal"])
	if err != nil {
		t.Fatal(err)
	}
	runs := func(name string) commandLine {
		l, err := c.line(c.pods()[name])
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	redis := c.pods()["load-loadctl-redis"].container()
	return fleet{
		redis: runs("load-loadctl-redis"), ready: redis.ReadinessProbe.Exec.Command, auth: password, target: composeFleet(t).target,
		worker: runs("load-loadctl-worker-load-1"), control: runs("load-loadctl-control-load-1"),
		workers: int(*c.jobs["load-loadctl-worker-load-1"].Spec.Completions),
		url:     strings.Replace(c.secrets["load-loadctl-redis"].StringData["url"], "load-loadctl-redis", "redis", 1),
	}
}

func kubernetesFleet(t *testing.T) fleet {
	manifests := read(t, kubernetes+"*.yaml")
	manifests[kubernetes+"secret.yaml"] = strings.ReplaceAll(manifests[kubernetes+"secret.yaml"], "<PASSWORD>", password)
	c, err := newCluster(manifests)
	if err != nil {
		t.Fatal(err)
	}
	runs := func(name string) commandLine {
		l, err := c.line(c.pods()[name])
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	return fleet{
		redis: runs("redis"), ready: c.pods()["redis"].container().ReadinessProbe.Exec.Command, auth: password, target: runs("target"),
		worker: runs("loadworker"), control: runs("loadctl"), workers: int(*c.jobs["loadworker"].Spec.Completions),
		url: c.secrets["redis"].StringData["url"],
	}
}

// systemdFleet has workers by systemd, and everything else from elsewhere, as there would be.
func systemdFleet(t *testing.T) fleet {
	f, unit := composeFleet(t), read(t, unitFile)
	f.worker = strings.Fields(strings.NewReplacer("%S/loadworker/%i", t.TempDir(), "%i", f.control.runs(), "%H", "host",
		"${LOADCTL_ALLOW_HOSTS}", f.worker.value("--allow-hosts")).Replace(settings(unit[unitFile])["ExecStart"]))
	return f
}

// run starts everything on this machine, and says what is wrong with the report.
func (f fleet) run(t *testing.T) error {
	dir := t.TempDir()
	redis, target := address(t), address(t)
	_, port, _ := net.SplitHostPort(redis)
	here := strings.NewReplacer("redis:6379", redis, "target:8080", target, "0.0.0.0:8080", target, "/data", dir)
	start := func(c commandLine, more ...string) *process {
		args := strings.Split(here.Replace(strings.Join(c, "\x00")), "\x00")
		return newProcess(t, []string{"LOADCTL_REDIS=" + here.Replace(f.url), "REDISCLI_AUTH=" + f.auth}, append(args, more...)...)
	}
	server := start(f.redis, "--port", port, "--bind", "127.0.0.1")
	if err := f.awaitReady(server, func() *process { return start(slices.Insert(slices.Clone(f.ready), 1, "-p", port)) }); err != nil {
		return err
	}
	if err := start(f.target).listens(target); err != nil {
		return err
	}
	var workers []*process
	for i := range f.workers {
		workers = append(workers, start(f.worker, "--id", fmt.Sprintf("w%d", i)))
	}
	control := start(f.control, "--duration", "2s", "--output", "json")
	for _, p := range append(workers, control) {
		if err := p.wait(); err != nil {
			return err
		}
	}
	return checkReport(control.stdout.Bytes(), f.workers)
}

// awaitReady waits until the probe says that the server is ready.
func (f fleet) awaitReady(server *process, probe func() *process) error {
	for ; ; time.Sleep(20 * time.Millisecond) {
		err := probe().wait()
		if err == nil {
			return nil
		}
		select {
		case <-server.exited:
			return fmt.Errorf("redis is never ready: %w", err)
		default:
		}
	}
}

// checkReport checks the report of a run of 2 s at 300/s.
func checkReport(text []byte, workers int) error {
	var report struct {
		Asked    int64
		Complete bool
		Workers  []struct{ ID string }
	}
	if err := json.Unmarshal(text, &report); err != nil {
		return fmt.Errorf("read the report: %w: %s", err, text)
	}
	if report.Asked != 600 || !report.Complete || len(report.Workers) != workers {
		return fmt.Errorf("asked %d of 600, complete: %v, workers: %v of %d", report.Asked, report.Complete, report.Workers, workers)
	}
	return nil
}

// TestPlaceholders: who forgets to replace what has to be replaced gets an error at once.
func TestPlaceholders(t *testing.T) {
	c, err := newCluster(read(t, kubernetes+"*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for name, url := range map[string]string{
		"secret.yaml": c.secrets["redis"].StringData["url"],
		envFile:       settings(read(t, envFile)[envFile])["LOADCTL_REDIS"],
	} {
		p := newProcess(t, []string{"LOADCTL_REDIS=" + url}, "loadctl", "ls")
		if err := p.wait(); err == nil || p.cmd.ProcessState.ExitCode() != 104 || !strings.Contains(p.stderr.String(), "read the Redis URL") {
			t.Errorf("%s is used as it is: %v", name, err)
		}
	}
}

// address is one that is free on this machine.
func address(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// process is one container's, without the container.
type process struct {
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
	exited         chan struct{}
}

// newProcess starts a program, ours from the image, and kills it when the test is over.
func newProcess(t *testing.T, env []string, line ...string) *process {
	t.Helper()
	if ours := path.Base(line[0]); slices.Contains(programs(), ours) {
		line[0] = image.program(ours)
	}
	p := &process{cmd: exec.Command(line[0], line[1:]...), exited: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // also when the test is killed
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // the child dies with the thread that started it
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait()
			close(p.exited)
		}
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.exited
	})
	return p
}

// listens waits until the process listens at an address.
func (p *process) listens(address string) error {
	for ; ; time.Sleep(10 * time.Millisecond) {
		if conn, err := net.Dial("tcp", address); err == nil {
			return conn.Close()
		}
		select {
		case <-p.exited:
			return fmt.Errorf("%q has ended: %s", p.cmd.Args, &p.stderr)
		default:
		}
	}
}

// wait waits for an end with exit code 0.
func (p *process) wait() error {
	<-p.exited
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("%q: exit code %d: %s", p.cmd.Args, code, &p.stderr)
	}
	return nil
}
