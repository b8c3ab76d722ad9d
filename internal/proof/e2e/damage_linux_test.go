package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/report"
)

// damages are what may happen to one key of a running run: somebody deletes it, or writes something else there.
func damages() map[string]func(ctx context.Context, c rdb.Client, key string) error {
	return map[string]func(ctx context.Context, c rdb.Client, key string) error{
		"deleted": func(ctx context.Context, c rdb.Client, key string) error { return c.Del(ctx, key).Err() },
		"of another type": func(ctx context.Context, c rdb.Client, key string) error {
			is := c.Type(ctx, key).Val()
			_, err := c.TxPipelined(ctx, func(p redis.Pipeliner) error {
				p.Del(ctx, key)
				if is == "string" {
					p.RPush(ctx, key, "garbage")
				} else {
					p.Set(ctx, key, "garbage", 0)
				}
				return nil
			})
			return err
		},
		"garbage": func(ctx context.Context, c rdb.Client, key string) error {
			const garbage = "\x00garbage\xff;:,/"
			switch c.Type(ctx, key).Val() {
			case "hash":
				var fields []string
				for _, name := range append(c.HKeys(ctx, key).Val(), garbage) {
					fields = append(fields, name, garbage)
				}
				return c.HSet(ctx, key, fields).Err() // all at once, as workers write too
			case "zset":
				var members []redis.Z
				for _, member := range append(c.ZRange(ctx, key, 0, -1).Val(), garbage) {
					members = append(members, redis.Z{Score: -1e300, Member: member})
				}
				return c.ZAdd(ctx, key, members...).Err()
			case "stream":
				return c.XAdd(ctx, &redis.XAddArgs{Stream: key, Values: []string{garbage, garbage}}).Err()
			default:
				return c.Set(ctx, key, garbage, 0).Err()
			}
		},
	}
}

// unreadable are the damages after which nobody can report. Others cost only the content of the key. A worker restores
// a deleted budget.
func unreadable(part, how string) bool {
	switch part {
	case "spec":
		return true
	case "budget", "workers", "unowned", "laws", "log", "totals", "series":
		return how != "deleted"
	case "due":
		return how == "of another type"
	default:
		return false
	}
}

// unrenewable are the damages after which no worker can renew its lease: it goes on until the lease ends, and then
// ends with an error.
func unrenewable(part, how string) bool {
	switch part {
	case "budget", "workers":
		return how != "deleted"
	case "due", "byload", "laws":
		return how == "of another type"
	default:
		return false
	}
}

// unpublishable are the damages after which no worker can publish its final counts: it saves them in a file, and ends
// with an error.
func unpublishable(part, how string) bool {
	return (part == "totals" || part == "series") && how != "deleted"
}

// TestDamagedKeys: after any damage to one key of a live run, the fleet never exceeds the rate, no process panics or
// hangs, and each command answers, or says in one line what is wrong. make test does it with some of the damages.
func TestDamagedKeys(t *testing.T) {
	besides(t)
	some := map[string]string{"spec": "deleted", "budget": "garbage", "log": "of another type", "totals": "garbage", "laws": "deleted"}
	for _, part := range []string{"spec", "budget", "workers", "due", "byload", "unowned", "laws", "log", "totals", "series", "snapshots", "events", "limiter"} {
		if testing.Short() && some[part] == "" {
			continue
		}
		t.Run(part, func(t *testing.T) {
			t.Parallel()
			for how, damage := range damages() {
				if !testing.Short() || how == some[part] {
					b := &bed{t: t, redis: redistest.Start(t)}
					b.damaged(part, how, damage)
				}
			}
		})
	}
}

// damaged plays a run of two workers one of whose keys is damaged after a while.
func (b *bed) damaged(part, how string, damage func(ctx context.Context, c rdb.Client, key string) error) {
	b.t.Helper()
	const rate = 200
	d, url := startDiary(b.t)
	args := []string{"--url", url, "--qps", fmt.Sprint(rate), "--permit-for", "1s", "--min-workers", "2"}
	if part == "limiter" {
		args = append(args, "--limiter", "token-bucket", "--burst", "20")
	}
	if unrenewable(part, how) { // its end is planned, and cannot come before the damage: no request is answered until then
		args = append(args, "--duration", "3s")
		d.hold(b.t)
	}
	fleet := []*process{b.worker("x", args...), b.worker("x", args...)}
	d.more(b.t, rate/4)
	began := b.status("x").StartedAt
	key := strings.TrimSuffix(run.KeysOf("x").Spec, "spec") + part
	if mark := map[string]string{"totals": ":seq", "series": "/"}[part]; mark != "" { // garbage takes the place of what is there
		await.True(b.t, "what both workers publish", func() bool {
			return strings.Count(strings.Join(b.redis.Client().HKeys(b.t.Context(), key).Val(), " "), mark) == 2
		})
	}
	if err := damage(b.t.Context(), b.redis.Client(), key); err != nil {
		b.t.Fatal(err)
	}
	d.release()
	said := map[string]string{}
	for _, command := range []string{"status x", "workers x", "events x", "report x", "ls", "set-rate x 200"} {
		said[command] = b.clear(part+" "+how, strings.Fields(command)...)
	}
	code := 0
	if unrenewable(part, how) {
		code = 1 // they go on until their lease ends, and say so at the end of the run
	} else {
		if part != "workers" {
			d.more(b.t, rate/4)
		}
		if said["stop x"] = b.clear(part+" "+how, "stop", "x"); !strings.HasPrefix(said["stop x"], "0") {
			code = 105 // nobody can stop the run, but its workers end on a signal
			for _, p := range fleet {
				p.signal(syscall.SIGTERM)
			}
		}
	}
	if unpublishable(part, how) {
		code = max(code, 1)
	}
	for _, p := range fleet {
		p.ends(part+" "+how, code)
		if unpublishable(part, how) && !strings.Contains(p.Stderr.String(), "did not reach Redis") {
			b.t.Errorf("%s %s: a worker does not say what became of its counts\n%s", part, how, p.Stderr.String())
		}
	}
	b.trusted(part, how, d.count())
	for _, command := range []string{"report x", "stop x", "rm x --force"} {
		said[command+" at the end"] = b.clear(part+" "+how, strings.Fields(command)...)
	}
	if left := b.redis.Client().Keys(b.t.Context(), "{load:x}:*").Val(); strings.HasPrefix(said["rm x --force at the end"], "0") {
		for _, key := range left {
			if !strings.Contains(key, ":removed:") && !strings.HasSuffix(key, ":limiter") {
				b.t.Errorf("%s %s: rm left %s", part, how, key)
			}
		}
	}
	d.once(b.t, func(slot int64) time.Time { return began.Add(time.Duration(slot) * time.Second / rate) }, 100*time.Millisecond)
	for command, text := range said {
		b.t.Logf("%s %s: %s: %.230s", part, how, command, text)
	}
	for _, p := range fleet {
		b.t.Logf("%s %s: a worker ended with %d: %.230s", part, how, p.Cmd.ProcessState.ExitCode(), lastLine(p.Stderr.String()))
	}
}

// trusted checks that a report can be read if it should, and that a report that claims to be complete has all arrivals.
func (b *bed) trusted(part, how string, arrived int64) {
	b.t.Helper()
	out, stderr, code := b.try("report", "x", "-o", "json")
	if unreadable(part, how) {
		if code != 104 {
			b.t.Errorf("%s %s: report: exit code %d, want 104\n%s", part, how, code, stderr)
		}
		return
	}
	var r report.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != verdict(r) {
		b.t.Fatalf("%s %s: report: %v, exit code %d, want %d\n%s", part, how, err, code, verdict(r), stderr)
	}
	if err := r.CheckAudit(); r.Complete && (err != nil || written(r) != arrived) {
		b.t.Errorf("%s %s: the report says that it is complete, and has %d of %d: %v", part, how, written(r), arrived, err)
	}
}

// clear runs a command, which must succeed or say in one line what is wrong.
func (b *bed) clear(what string, args ...string) string {
	b.t.Helper()
	out, stderr, code := b.try(args...)
	switch {
	case code == 0:
		return "0 " + strings.ReplaceAll(out, "\n", " | ")
	case code != 1 && code != 104 || strings.Contains(stderr, "user_script") || !regexp.MustCompile(`^(warning: .*\n|waiting for .*\n)*error: [^\n]+\n$`).MatchString(stderr):
		b.t.Errorf("%s: loadctl %q: exit code %d\n%s", what, args, code, stderr)
	}
	return fmt.Sprint(code, " ", stderr)
}

// ends waits for the end of a worker, and checks its exit code. A worker that does not end as it should says what is
// wrong.
func (p *process) ends(what string, code int) {
	p.t.Helper()
	await.Closed(p.t, what+": the end of a worker", p.Exited)
	got := p.Cmd.ProcessState.ExitCode()
	if last := lastLine(p.Stderr.String()); got != code || code == 1 && !strings.HasPrefix(last, "error: ") {
		p.t.Errorf("%s: a worker ended with %d, want %d\n%s", what, got, code, p.Stderr.String())
	}
}
