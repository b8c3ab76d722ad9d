package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/console/doctor"
	"github.com/loadctl/loadctl/internal/fleet/ledger"
	"github.com/loadctl/loadctl/internal/fleet/ledger/ledgertest"
	"github.com/loadctl/loadctl/internal/fleet/link"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/pacer/limit"
)

// enter creates a user with exactly these permissions, and makes all commands use it.
func (b *bed) enter(user, permissions string) {
	b.t.Helper()
	ctx, admin := b.t.Context(), b.redis.Client()
	args := []any{"ACL", "SETUSER", user, "reset", "on", ">right"}
	for word := range strings.FieldsSeq(permissions) {
		args = append(args, word)
	}
	for _, command := range [][]any{args, {"ACL", "LOG", "RESET"}, {"CONFIG", "RESETSTAT"}} {
		if err := admin.Do(ctx, command...).Err(); err != nil {
			b.t.Fatal(err)
		}
	}
	b.as = user + ":right"
	client, err := link.Connect(ctx, b.url())
	if err != nil {
		b.t.Fatal(err)
	}
	defer client.Close()
	if err := client.ConfigGet(ctx, "requirepass").Err(); err == nil || !strings.Contains(err.Error(), "NOPERM") {
		b.t.Errorf("%s and CONFIG GET: %v", user, err)
	}
	if err := admin.Do(ctx, "ACL", "LOG", "RESET").Err(); err != nil {
		b.t.Fatal(err)
	}
}

// refused returns the commands that Redis refused the user. No program may have reported one.
func (b *bed) refused() []string {
	b.t.Helper()
	log, err := b.redis.Client().ACLLog(b.t.Context(), 100).Result()
	if err != nil {
		b.t.Fatal(err)
	}
	var all []string
	for _, entry := range log {
		all = append(all, entry.Reason+" "+entry.Object)
	}
	return all
}

// needless returns the permitted commands that were not used since enter.
func (b *bed) needless(permissions string) []string {
	b.t.Helper()
	stats := b.redis.Client().Info(b.t.Context(), "commandstats").Val()
	var all []string
	for word := range strings.FieldsSeq(permissions) {
		command, is := strings.CutPrefix(word, "+")
		if is && !slices.Contains(rare(), command) && !strings.Contains(stats, "cmdstat_"+command+":calls=") {
			all = append(all, command)
		}
	}
	return all
}

// rare are commands that a run on a single server needs only in special cases: for another database, for a cluster,
// for a skipped snapshot number, and for a change of the rate that a failover has lost.
func rare() []string { return []string{"select", "cluster|slots", "hincrby", "publish"} }

// TestWorkerPermissions: a user with the permissions for workers can play whole runs, with each limiter, replaced and
// restored. Redis refuses it nothing, and it uses all permissions.
func TestWorkerPermissions(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	if _, err := ledgertest.Calm(t, b.redis.Client()).Set(t.Context(), "*", 1e12, false, ledger.Note{}); err != nil {
		t.Fatal(err)
	}
	b.enter("worker", doctor.WorkerPermissions)
	admin := b.redis.Client()
	var all []*process
	for _, name := range limit.Names() {
		all = append(all, b.worker(name, "--url", b.web.URL(), "--qps", "100", "-n", "20", "--limiter", name))
	}
	lost := b.worker("lost", "--url", b.web.URL(), "--qps", "100", "--id", "stays")
	twin := b.worker("lost", "--wait", "--allow-hosts", "127.0.0.1", "--id", "twin")
	b.members("lost", 2)
	twin.says("taking part")
	await.True(t, "snapshots of both", func() bool { return admin.HLen(t.Context(), run.KeysOf("lost").Totals).Val() >= 2 })
	other := b.worker("lost", "--allow-hosts", "127.0.0.1", "--id", "twin")
	twin.wait(104)
	for _, p := range all {
		p.wait(0)
	}
	admin.ZRem(t.Context(), "load:runs", "gcra") // a worker that joins puts it back
	b.worker("gcra", "--allow-hosts", "127.0.0.1").wait(0)
	b.worker("gcra", "--url", b.web.URL(), "--qps", "50", "-n", "10", "--new").wait(0)
	b.comes("lost", "running")
	admin.Unlink(t.Context(), run.KeysOf("lost").Budget, run.KeysOf("lost").Workers, run.KeysOf("lost").Spec)
	b.members("lost", 2) // they have restored it
	b.renewed("lost")
	if needless := b.needless(doctor.WorkerPermissions); len(needless) > 0 { // the next command is another user's
		t.Errorf("not needed: %q", needless)
	}
	r, err := run.Open(t.Context(), admin, "lost")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Stop(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	for _, p := range []*process{lost, other} {
		p.wait(0)
	}
	if refused := b.refused(); len(refused) > 0 {
		t.Errorf("refused: %q", refused)
	}
}

// examined returns what loadctl doctor prints. Nothing may be bad but, on a slow machine, the time of a round trip.
func (b *bed) examined() string {
	b.t.Helper()
	out, stderr, code := b.try("doctor")
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "BAD ") && (acceptance() || !strings.Contains(line, " round trip ")) {
			b.t.Errorf("doctor: exit code %d\n%s%s", code, out, stderr)
		}
	}
	return out
}

// TestOperatorPermissions: a user with the permissions for operators can use every command.
func TestOperatorPermissions(t *testing.T) {
	nightly(t)
	t.Parallel()
	b := newBed(t)
	b.enter("operator", doctor.OperatorPermissions)
	b.loadctl("create", "x", "--url", b.web.URL(), "--qps", "100", "--limiter", "token-bucket", "--permit-for", "2s", "--deadman", "1h")
	first, second := b.guest("x", "--id", "first"), b.guest("x", "--id", "second")
	b.members("x", 2)
	watching := b.operator("watch", "x")
	for _, command := range []string{"start x", "set-rate x 200", "set-burst x 50", "pause x", "resume x", "status x", "workers x", "events x", "report x", "ls"} {
		b.loadctl(strings.Fields(command)...)
	}
	b.started(1)
	second.Kill()
	b.loadctl("workers", "rm", "x", "second", "--force")
	b.loadctl("stop", "x")
	first.wait(0)
	watching.wait(1) // its report lacks the last counts of a killed worker
	b.loadctl("stop", "--all", "--yes")
	b.loadctl("rm", "x")
	running := b.operator(append([]string{"run", "y", "--url", b.web.URL(), "--qps", "100", "--duration", "1s"}, unhurried()...)...)
	b.guest("y").wait(0)
	running.wait(0)
	if out := b.examined(); !strings.Contains(out, "were not checked") {
		t.Errorf("doctor does not say what it could not look at:\n%s", out)
	}
	refused := slices.DeleteFunc(b.refused(), func(s string) bool { return s == "command config|get" }) // doctor tries it, in case it is permitted
	if len(refused) > 0 {
		t.Errorf("refused: %q", refused)
	}
	own, _ := strings.CutPrefix(doctor.OperatorPermissions, doctor.WorkerPermissions) // operators may do more: doctor makes a run of its own
	if needless := b.needless(strings.NewReplacer("+cluster|info", "", "+xtrim", "").Replace(own)); len(needless) > 0 {
		t.Errorf("not needed: %q", needless)
	}
}
