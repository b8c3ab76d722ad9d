// Package e2e tests the two commands as users run them: separate processes, a real Redis, real sockets, and a server
// that counts arrivals.
package e2e

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/child"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/commands"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/internal/server/arrivals"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/threshold"
	"github.com/loadctl/loadctl/targets"
)

// binaries is where the commands are; it is set once, before any test.
var binaries string

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == peakOf {
		os.Exit(runPeak(os.Args[2:]))
	}
	built, err := commands.Build()
	if err != nil {
		panic(err)
	}
	binaries = built.Dir
	code := m.Run()
	built.Remove()
	os.Exit(code)
}

// bed is a private Redis and a server that counts arrivals.
type bed struct {
	t       *testing.T
	redis   *redistest.Server
	cluster *redistest.Cluster // of which redis is a master; nil = there is none
	web     *arrivals.Server
	as      string   // user:password of the commands; "" = the default user
	dir     string   // of the commands; "" = those of this version
	env     []string // of the commands, in addition
	own     string   // command that workers are; "" = loadworker
}

// url is the LOADCTL_REDIS of the commands.
func (b *bed) url() string {
	if b.cluster != nil {
		return b.cluster.URL()
	}
	if b.as != "" {
		return strings.Replace(b.redis.URL(), "redis://", "redis://"+b.as+"@", 1)
	}
	return b.redis.URL()
}

// program is the path of a command.
func (b *bed) program(name string) string { return filepath.Join(cmp.Or(b.dir, binaries), name) }

func newBed(t *testing.T) *bed {
	t.Helper()
	web, err := arrivals.Start(arrivals.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { web.Close() })
	return &bed{t: t, redis: redistest.Start(t), web: web}
}

// process is a loadworker, or another command that runs while the test does.
type process struct {
	*child.Process
	t *testing.T
}

// begin starts a command, which ends with the test. before is as for child.Start.
func begin(t *testing.T, cmd *exec.Cmd, before func() error) *process {
	t.Helper()
	p, err := child.Start(cmd, before)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return &process{Process: p, t: t}
}

// worker starts loadworker run for a run.
func (b *bed) worker(run string, args ...string) *process {
	b.t.Helper()
	return b.workerWith(nil, run, args...)
}

// workerWith is worker with more variables in its environment: NAME=VALUE.
func (b *bed) workerWith(env []string, run string, args ...string) *process {
	b.t.Helper()
	cmd := exec.Command(b.program(cmp.Or(b.own, "loadworker")), append([]string{"run", "--run", run, "-o", "json"}, args...)...)
	cmd.Dir = b.t.TempDir() // for the files of counts that Redis did not take
	cmd.Env = slices.Concat(os.Environ(), []string{"LOADCTL_REDIS=" + b.url()}, b.env, env)
	return begin(b.t, cmd, nil)
}

// fleet starts n equal workers that begin together.
func (b *bed) fleet(n int, run string, args ...string) []*process {
	b.t.Helper()
	var ps []*process
	for range n {
		ps = append(ps, b.worker(run, append([]string{"--url", b.web.URL() + "/" + run, "--min-workers", fmt.Sprint(n)}, args...)...))
	}
	return ps
}

// wait waits for the end of a worker and checks its exit code.
func (p *process) wait(code int) {
	p.t.Helper()
	await.Closed(p.t, "the end of "+strings.Join(p.Cmd.Args, " "), p.Exited)
	if got := p.Cmd.ProcessState.ExitCode(); got != code {
		p.t.Fatalf("exit code %d, want %d\n%s", got, code, p.Stderr.String())
	}
}

// loadctl runs a command that must succeed and returns what it printed.
func (b *bed) loadctl(args ...string) string {
	b.t.Helper()
	out, stderr, code := b.try(args...)
	if code != 0 {
		b.t.Fatalf("loadctl %s: exit code %d\n%s", strings.Join(args, " "), code, stderr)
	}
	return out
}

func (b *bed) try(args ...string) (stdout, stderr string, code int) {
	b.t.Helper()
	cmd := exec.Command(b.program("loadctl"), args...)
	cmd.Env = slices.Concat(os.Environ(), []string{"LOADCTL_REDIS=" + b.url()}, b.env)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		b.t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// report returns the run's report, whose audit must add up. The exit code must be the one that the report asks for.
func (b *bed) report(run string) report.Report {
	b.t.Helper()
	var r report.Report
	out, stderr, code := b.try("report", run, "-o", "json")
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != verdict(r) {
		b.t.Fatalf("%v, exit code %d, want %d\n%s", err, code, verdict(r), stderr)
	}
	if err := r.CheckAudit(); err != nil {
		b.t.Errorf("audit: %v", err)
	}
	return r
}

// verdict is the exit code that a report asks for. It is 98 for a run whose generator may have decided a threshold. On
// a busy machine that is the right answer, so tests compare codes with what the report says.
func verdict(r report.Report) int {
	switch r.Outcome() {
	case report.Invalid:
		return 98
	case threshold.Failed, threshold.Undecided:
		return 99
	}
	if !r.Running && !r.Complete {
		return 1
	}
	return 0
}

// written returns how many requests of a report must have arrived. A request that a stop catches before its first byte
// is sent and canceled.
func written(r report.Report) int64 { return r.Audit.Sent - r.Errors[targets.ClassCanceled] }
