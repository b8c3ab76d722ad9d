package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
)

// TestRowsAreSentOnce: no row of a data file arrives twice, and the audit accounts for the rows that were not sent. One
// worker is killed, and one joins by name. The rate changes twice, and Redis restarts. A Redis that comes back empty has
// forgotten what the killed worker did. No output shows a row. At its first rates the run would last for a minute; the
// last one ends it at once.
func TestRowsAreSentOnce(t *testing.T) {
	besides(t)
	const rows = 6000
	var text strings.Builder
	text.WriteString("n,secret\n")
	for i := range rows {
		fmt.Fprintf(&text, "%d,s3cr3t\n", i)
	}
	file := filepath.Join(t.TempDir(), "rows.csv")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, pick string
		redis      []string // arguments
		args       []string
		nightly    bool
	}{
		{"once", "once", []string{"--appendonly", "yes", "--appendfsync", "always"}, nil, false},
		{"once, empty Redis", "once", nil, nil, false},
		{"shuffle", "shuffle,seed=3", nil, []string{"-n", fmt.Sprint(rows)}, true},
		{"cycle", "cycle", nil, []string{"-n", fmt.Sprint(rows)}, true},
	} {
		if c.nightly && testing.Short() {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var o ordinals
			b := &bed{t: t, redis: redistest.Start(t, c.redis...)}
			args := append(patient(), "--url", "http://"+o.serve(t)+"/${rows.n}", "-H", "X: ${rows.secret}", "--data", file+",pick="+c.pick, "--qps", "60", "--min-workers", "3", "--permit-for", "5s")
			var ps []*process
			for range 3 {
				ps = append(ps, b.worker("x", append(args, c.args...)...))
			}
			await.True(t, "30 rows", func() bool { return o.count() >= 30 })
			b.loadctl("set-rate", "x", "100")
			guest := b.worker("x", "--allow-any")
			await.True(t, "four members", func() bool { return b.status("x").Members == 4 })
			at := o.count()
			await.True(t, "50 more rows", func() bool { return o.count() >= at+50 })
			ps[0].Cmd.Process.Kill()
			b.redis.Kill()
			for _, p := range append(ps[1:], guest) {
				p.says("Redis does not answer")
			}
			b.redis.Restart()
			await.True(t, "a change", func() bool { _, _, code := b.try("set-rate", "x", "3000"); return code == 0 })
			for _, p := range append(ps[1:], guest) {
				p.wait(0)
			}
			a := b.report("x").Audit
			o.mu.Lock()
			defer o.mu.Unlock()
			for n, times := range o.seen {
				if times > 1 || n < 0 || n >= rows {
					t.Errorf("row %d arrived %d times", n, times)
				}
			}
			text, lacks, _ := b.try("report", "x") // the counts of the killed worker
			shown := text + lacks + b.loadctl("status", "x") + b.loadctl("events", "x")
			for _, p := range append(ps, guest) {
				shown += p.Stdout.String() + p.Stderr.String()
			}
			if strings.Contains(shown, "s3cr3t") {
				t.Error("a row is shown")
			}
			kept := len(c.redis) > 0
			if o.bad != "" || o.all < a.Sent || kept && (a.Asked != rows || o.all > a.Sent+a.Lost || a.Sent-a.Overrun+a.LateDropped+a.Skipped+a.Lost != rows) {
				t.Errorf("%d arrived, %q; %+v", o.all, o.bad, a)
			}
			t.Logf("%d arrived; %+v", o.all, a)
		})
	}
}
