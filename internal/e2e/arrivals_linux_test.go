package e2e

import (
	"fmt"
	"math"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/arrivals"
	"github.com/loadctl/loadctl/internal/await"
	"github.com/loadctl/loadctl/pacer"
)

// TestArrivals: three workers and one that leaves send one random sequence, that of its seed. Counts are exact, and the
// gaps vary by 1.
func TestArrivals(t *testing.T) {
	besides(t)
	b := newBed(t)
	seconds := scale[int64](3, 20)
	ps := b.fleet(4, "random", append(patient(), "--qps", "1000", "--duration", scale("3s", "20s"), "--arrivals", "poisson:7")...)
	await.True(t, "1,000 arrivals", func() bool { return b.web.Count() >= 1000 })
	ps[0].signal(syscall.SIGTERM)
	ps[0].wait(105)
	for _, p := range ps[1:] {
		p.wait(0)
	}
	came := b.web.Arrivals()
	slices.Sort(came)
	if n := int64(len(came)); n != 1000*seconds {
		t.Fatalf("%d arrived, want %d", n, 1000*seconds)
	}
	profile := pacer.Constant(pacer.PerSecond(1000), time.Duration(seconds)*time.Second)
	profile.Seed = 7
	// A busy machine is late, but nothing makes a request early. Arrivals in another order would be, about half of them.
	started, late := b.report("random").StartedAt.UnixNano(), make([]int64, len(came))
	for i, due := range profile.Slots() {
		late[i] = came[i] - started - int64(due)
	}
	slices.Sort(late)
	if early := -time.Duration(late[0]); early > 2*time.Millisecond {
		t.Errorf("a request arrived %v earlier than the sequence says", early)
	}
	if median := time.Duration(late[len(late)/2]); acceptance() && median > 20*time.Millisecond {
		t.Errorf("half of the arrivals are more than %v later than the sequence says", median)
	}
	if v := arrivals.GapVariation(came); acceptance() && math.Abs(v-1) > 0.05 {
		t.Errorf("the gaps vary by %.3f, want 1.00 ± 0.05", v)
	} else {
		t.Logf("the gaps vary by %.3f", v)
	}
}

// TestArrivalsAreCut: commands cut random arrivals. All that the audit asks for arrives, once.
func TestArrivalsAreCut(t *testing.T) {
	besides(t)
	b := newBed(t)
	ps := b.fleet(3, "cut", append(patient(), "--qps", "600", "--arrivals", "poisson")...)
	past := func(n int64) { await.True(t, fmt.Sprint(n, " arrivals"), func() bool { return b.web.Count() >= n }) }
	past(500)
	b.loadctl("set-rate", "cut", "2000")
	past(2000)
	b.loadctl("set-rate", "cut", "300", "--over", "1s")
	past(2500)
	b.loadctl("pause", "cut")
	b.loadctl("resume", "cut")
	past(3000)
	b.loadctl("stop", "cut")
	for _, p := range ps {
		p.wait(0)
	}
	r, n := b.report("cut"), b.web.Count()
	if a := r.Audit; n != a.Sent || a.Sent-a.Overrun != a.Asked || !r.Complete {
		t.Errorf("%d arrived of %+v, complete %v %v", n, a, r.Complete, r.Notes)
	}
}
