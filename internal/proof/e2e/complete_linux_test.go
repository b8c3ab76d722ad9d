package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/loadctl/loadctl/internal/fleet/results"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/report"
)

// ending is a fleet of three whose Redis fails before the end of the run, and is repaired after the workers have ended.
type ending struct {
	*bed
	server *diary
	dir    string // where workers leave their files
	fleet  []*process
	name   string
}

// failure is one way in which final snapshots do not reach Redis.
type failure struct {
	name    string
	redis   func(t *testing.T) *bed
	breaks  func(e *ending)
	mends   func(e *ending)
	killed  bool // a worker is killed, so what it sent last is unknown
	certain bool // no final snapshot can reach Redis
	quick   bool // workers do not wait for an unreachable Redis
}

// single is a bed with one server that keeps its data.
func single(t *testing.T) *bed {
	return &bed{t: t, redis: redistest.Start(t, "--appendonly", "yes", "--repl-diskless-sync-delay", "0")}
}

// TestCompleteIsTrue: however final snapshots get lost, a report is complete only if it has all arrivals. An incomplete
// one names the workers and their files, and with all files it has everything. make test does it with the quickest
// failure.
func TestCompleteIsTrue(t *testing.T) {
	t.Parallel()
	var endings []*ending
	all := slices.DeleteFunc(failures(), func(f failure) bool { return testing.Short() && !f.quick })
	for _, f := range all { // workers wait long for an unreachable Redis, so all break before the first wait
		e := &ending{bed: f.redis(t), dir: t.TempDir(), name: "x"}
		if e.cluster != nil {
			e.name = e.onThisMaster()
		}
		var url string
		e.server, url = startDiary(t)
		e.server.hold(t) // as long as there are no answers, no snapshot is the final one
		for range 3 {
			e.fleet = append(e.fleet, e.worker(e.name, "--url", url, "--min-workers", "3", "--qps", "300", "--duration", scale("3s", "6s"), "--permit-for", "2s", "--timeout", "10m", "--save-dir", e.dir))
		}
		e.server.more(t, 300)
		f.breaks(e)
		e.server.release()
		endings = append(endings, e)
	}
	for i, f := range all {
		t.Run(f.name, func(t *testing.T) {
			e := endings[i]
			e.t = t
			for _, p := range e.fleet {
				await.Closed(t, "the end of a worker", p.Exited)
			}
			f.mends(e)
			e.check(f)
		})
	}
}

func failures() []failure {
	freeze := func(e *ending) { e.redis.Pause() }
	thaw := func(e *ending) { e.redis.Resume() }
	config := func(e *ending, name, value string) {
		if err := e.redis.Client().ConfigSet(e.t.Context(), name, value).Err(); err != nil {
			e.t.Fatal(err)
		}
	}
	return []failure{
		{name: "Redis frozen past the end", redis: single, breaks: freeze, mends: thaw},
		{
			name: "memory full until after the end", redis: single, certain: true, quick: true,
			breaks: func(e *ending) { config(e, "maxmemory", "1") },
			mends:  func(e *ending) { config(e, "maxmemory", "0") },
		},
		{
			name: "two clients at most", redis: single,
			breaks: func(e *ending) {
				config(e, "maxclients", "2")
				e.redis.Client().ClientKillByFilter(e.t.Context(), "TYPE", "normal", "SKIPME", "no")
			},
			mends: func(e *ending) { // the test's own client is refused too
				await.True(e.t, "room for a client", func() bool { return e.redis.Client().ConfigSet(e.t.Context(), "maxclients", "1000").Err() == nil })
			},
		},
		{name: "the master is demoted", redis: single, breaks: demote, mends: func(*ending) {}, certain: true},
		{
			name: "a cluster's master is killed", redis: sharded, certain: true,
			breaks: func(e *ending) { e.redis.Kill() },
			mends: func(e *ending) {
				e.redis.Restart()
				await.True(e.t, "the cluster is whole", func() bool { _, _, code := e.try("status", e.name); return code == 0 })
			},
		},
		{
			name: "Redis frozen and a worker killed", redis: single, killed: true,
			breaks: func(e *ending) {
				freeze(e)
				e.fleet[0].Cmd.Process.Signal(syscall.SIGKILL)
			},
			mends: thaw,
		},
	}
}

// demote makes another server the master, whose data all readers see from then on. The workers know only the old one.
// Writes wait meanwhile. A write that the old server accepted and the new one had not received would leave no trace.
func demote(e *ending) {
	old := e.redis
	must := func(s *redistest.Server, command ...any) {
		if err := s.Client().Do(e.t.Context(), command...).Err(); err != nil {
			e.t.Fatal(err)
		}
	}
	replicate := func(of, s *redistest.Server) {
		host, port, _ := strings.Cut(of.Addr(), ":")
		must(s, "REPLICAOF", host, port)
	}
	must(old, "CLIENT", "PAUSE", "60000", "WRITE")
	e.redis = redistest.Start(e.t)
	replicate(old, e.redis)
	await.True(e.t, "the replica has all", func() bool {
		return strings.Contains(e.redis.Client().Info(e.t.Context(), "replication").Val(), "master_link_status:up")
	})
	must(e.redis, "REPLICAOF", "NO", "ONE")
	replicate(e.redis, old)
	must(old, "CLIENT", "UNPAUSE")
}

// sharded is a bed with a cluster whose masters keep their data.
func sharded(t *testing.T) *bed {
	t.Helper()
	return &bed{t: t, cluster: redistest.StartCluster(t, 3, "--appendonly", "yes", "--cluster-require-full-coverage", "no")}
}

// onThisMaster returns the name of a run on another master than the list of runs; that master is the bed's redis.
func (e *ending) onThisMaster() string {
	for {
		if name := run.NewID(); e.owner(name) != e.index() {
			e.redis = e.owner(name)
			return name
		}
	}
}

// check compares reports with the arrivals: that of Redis, those printed by the workers, and those with files.
func (e *ending) check(f failure) {
	e.t.Helper()
	arrived, files := e.server.count(), e.files()
	bare := e.report(e.name)
	if bare.Complete && bare.Audit.Sent != arrived || bare.Audit.Sent > arrived || bare.Running {
		e.t.Errorf("%d arrived, %+v, complete %v", arrived, bare.Audit, bare.Complete)
	}
	if f.certain && (bare.Complete || len(files) != len(e.fleet) || bare.Audit.Completed > 0) {
		e.t.Errorf("complete %v, %d files, %d arrived, %+v", bare.Complete, len(files), arrived, bare.Audit)
	}
	notes := strings.Join(bare.Notes, "\n")
	for _, w := range bare.Workers {
		if file := report.UnpublishedFile(e.name, w.ID, w.Incarnation); strings.Contains(notes, "loadctl report "+e.name+" --merge "+file) == w.Final {
			e.t.Errorf("%+v; %s", w, notes)
		}
	}
	if !bare.Complete && strings.Contains(notes, "would have been late") {
		e.t.Errorf("lateness is blamed: %s", notes)
	}
	e.printed(files)
	for n := range files { // files of some workers
		rep := e.merged(files[:n+1])
		if rep.Complete && rep.Audit.Sent != arrived || rep.Audit.Sent < bare.Audit.Sent {
			e.t.Errorf("with %d files: %d arrived, %+v", n+1, arrived, rep.Audit)
		}
		if f.certain && n+1 < len(files) && rep.Complete {
			e.t.Errorf("with %d of %d files it is complete", n+1, len(files))
		}
	}
	whole := bare
	if len(files) > 0 {
		whole = e.merged(files)
	}
	a := whole.Audit
	if ok := whole.Complete && a.Sent == arrived; ok == f.killed {
		e.t.Errorf("with all files: %d arrived, complete %v %q, %+v", arrived, whole.Complete, whole.Notes, a)
	}
	if second := int64(300); f.killed && (arrived < a.Sent || arrived > a.Sent+a.Lost+second) { // its lease, one second
		e.t.Errorf("%d arrived, %+v", arrived, a)
	}
	e.t.Logf("arrived %d; Redis' report %d, complete %v; with %d files %d, complete %v", arrived, bare.Audit.Sent, bare.Complete, len(files), a.Sent, whole.Complete)
}

// files returns the files that the workers saved.
func (e *ending) files() []string {
	e.t.Helper()
	paths, err := filepath.Glob(filepath.Join(e.dir, "*.json"))
	if err != nil {
		e.t.Fatal(err)
	}
	return paths
}

// merged returns the report with some files.
func (e *ending) merged(files []string) report.Report {
	e.t.Helper()
	args := []string{"report", e.name, "-o", "json"}
	for _, file := range files {
		args = append(args, "--merge", file)
	}
	var rep report.Report
	out, stderr, code := e.try(args...)
	if err := json.Unmarshal([]byte(out), &rep); err != nil || code != verdict(rep) {
		e.t.Fatalf("%v, exit code %d, want %d\n%s", err, code, verdict(rep), stderr)
	}
	return rep
}

// printed checks that each worker whose counts did not reach Redis saves a file, exits with 1, and prints a report with
// its own counts.
func (e *ending) printed(files []string) {
	e.t.Helper()
	left := 0
	for _, p := range e.fleet {
		if p.Cmd.ProcessState.ExitCode() == -1 { // killed
			continue
		}
		var own *results.Unpublished
		for _, file := range files {
			if strings.Contains(p.Stderr.String(), file) {
				u, err := results.ReadUnpublished(file)
				if err != nil {
					e.t.Fatal(err)
				}
				own = u
				left++
			}
		}
		rep := p.printed()
		if own == nil {
			if strings.Contains(p.Stderr.String(), "did not reach Redis") {
				e.t.Errorf("it left no file: %s", p.Stderr.String())
			}
			continue
		}
		if code := p.Cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(p.Stderr.String(), "did not reach Redis") {
			e.t.Errorf("exit code %d, %s", code, p.Stderr.String())
		}
		for _, w := range rep.Workers {
			if w.ID == own.Total.Worker && w.Sent != own.Total.Counts.Sent {
				e.t.Errorf("%s printed %d, and sent %d", w.ID, w.Sent, own.Total.Counts.Sent)
			}
		}
		if rep.Audit.Sent < own.Total.Counts.Sent {
			e.t.Errorf("%s printed %d in all, and sent %d by itself", own.Total.Worker, rep.Audit.Sent, own.Total.Counts.Sent)
		}
	}
	if left != len(files) {
		entries, _ := os.ReadDir(e.dir)
		e.t.Errorf("%d of %v are named by their workers", left, entries)
	}
}
