package e2e

import (
	"os"
	"testing"

	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
)

// TestEventsCloseTogether: workers leave or join, and a command follows at once. Each number that was asked for arrives
// once, but for overrun, and for what a stop drops. The report agrees with the server's own count:
// it is complete, with nothing skipped or lost.
func TestEventsCloseTogether(t *testing.T) {
	besides(t)
	interrupt := func(ps ...*process) {
		for _, p := range ps {
			p.signal(os.Interrupt)
		}
		for _, p := range ps {
			p.says("leaving: ")
		}
	}
	leaves := func(_ *bed, ps []*process) { interrupt(ps[0]) }
	threeLeave := func(_ *bed, ps []*process) { interrupt(ps[:3]...) }
	joins := func(b *bed, _ []*process) {
		b.worker("x", "--allow-any", "--id", "joiner")
		b.members("x", 5)
	}
	for _, c := range []struct {
		name    string
		first   func(*bed, []*process)
		command []string
		gone    int // workers that have left
		nightly bool
	}{
		{"leave, pause", leaves, []string{"pause", "x"}, 1, false},
		{"leave, stop", leaves, []string{"stop", "x"}, 1, false},
		{"leave, set-rate", leaves, []string{"set-rate", "x", "900"}, 1, true},
		{"three leave, pause", threeLeave, []string{"pause", "x"}, 3, true},
		{"three leave, set-rate", threeLeave, []string{"set-rate", "x", "200"}, 3, true},
		{"join, set-rate", joins, []string{"set-rate", "x", "900"}, 0, false},
		{"join, pause", joins, []string{"pause", "x"}, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.nightly {
				nightly(t)
			}
			t.Parallel()
			b := &bed{t: t, redis: redistest.Start(t)}
			var o ordinals
			url := "http://" + o.serve(t) + "/${ordinal}"
			var ps []*process
			for range 4 {
				ps = append(ps, b.worker("x", append(unhurried(), "--url", url, "--qps", "600", "--min-workers", "4")...))
			}
			o.more(t, 300)
			c.first(b, ps)
			b.loadctl(c.command...)
			for _, p := range ps[:c.gone] {
				if c.command[0] != "stop" {
					p.wait(105)
				}
			}
			if c.command[0] == "set-rate" {
				o.more(t, 300)
				b.loadctl("pause", "x")
			}
			if c.command[0] != "stop" { // a stop drops what still waits for a connection, so nothing may wait
				await.True(t, "the last request before the pause", func() bool { a := b.report("x").Audit; return a.Held == 0 && a.InFlight == 0 })
				b.loadctl("stop", "x")
			}
			for _, p := range ps[c.gone:] {
				p.wait(0)
			}
			r := b.report("x")
			for _, p := range ps {
				<-p.Exited
			}
			// A leaver that received the change late has sent numbers beyond it: these are overrun, and another worker
			// sends them again.
			twice, beyond := o.again(r.Asked)
			if a := r.Audit; twice+beyond != a.Overrun || !r.Complete || a.Sent != o.count() || a.Sent-a.Overrun+a.LateDropped != a.Asked || a.Skipped+a.Lost > 0 ||
				a.LateDropped > 0 && c.command[0] != "stop" || a.Check() != nil {
				t.Errorf("%d arrived, %d of them again, %d beyond the end, complete %v %q, %v, %+v", o.count(), twice, beyond, r.Complete, r.Notes, a.Check(), a)
			}
		})
	}
}
