package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/rights"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/echotest"
	"github.com/loadctl/loadctl/internal/proof/evenness"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/internal/server/arrivals"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/report"
)

func (b *bed) status(name string) run.State {
	b.t.Helper()
	var s run.State
	if err := json.Unmarshal([]byte(b.loadctl("status", name, "-o", "json")), &s); err != nil {
		b.t.Fatal(err)
	}
	return s
}

// started waits until requests arrive.
func (b *bed) started(atLeast int64) {
	b.t.Helper()
	await.True(b.t, "arrivals", func() bool { return b.web.Count() >= atLeast })
}

// begun waits for a request of a fleet: where several runs send to one server, arrivals alone say nothing of this one.
func (b *bed) begun(run string) {
	b.t.Helper()
	await.True(b.t, "a request of "+run, func() bool { return b.web.Paths()["/"+run] > 0 })
}

func (b *bed) change(args ...string) run.Change {
	b.t.Helper()
	var c run.Change
	if err := json.Unmarshal([]byte(b.loadctl(append(args, "-o", "json")...)), &c); err != nil {
		b.t.Fatal(err)
	}
	return c
}

// still returns how many requests have arrived of a paused run, and checks that no more arrive. A worker that calls
// Redis for the second time knows the reply to its first call, so it has received the pause.
func (b *bed) still(name string) int64 {
	b.t.Helper()
	b.renewed(name)
	b.renewed(name)
	await.True(b.t, "all that was sent before the pause", func() bool {
		r := b.report(name)
		return r.Audit.InFlight == 0 && written(r) == b.web.Count()
	})
	n := b.web.Count()
	b.renewed(name)
	b.renewed(name)
	if more := b.web.Count() - n; more != 0 {
		b.t.Errorf("%d requests arrived in a pause", more)
	}
	return n
}

// TestSetRateIsFast changes the rate up and down. If n requests were asked for before the cut, the n-th arrival is the
// last one due under the old law. All that was asked for under all laws arrives.
func TestSetRateIsFast(t *testing.T) {
	besides(t)
	b := newBed(t)
	// Daily rates are low: a slow machine takes its time for commands, and has to send meanwhile.
	ps := b.fleet(4, "fast", append(unhurried(), "--qps", scale("100", "1000"))...)
	b.started(scale[int64](50, 500))
	type cut struct {
		returned time.Time
		asked    int64
	}
	var cuts []cut
	for i := range scale(1, 20) {
		for _, rate := range scale([]string{"300", "50", "100"}, []string{"3000", "500", "1000"}) {
			c := b.change("set-rate", "fast", rate)
			returned := time.Now()
			await.True(t, "the cut to pass", func() bool { return time.Now().After(c.At.Add(10 * time.Millisecond)) })
			cuts = append(cuts, cut{returned: returned, asked: b.askedAt("fast", c.At)})
			if s := b.status("fast"); fmt.Sprint(s.Rate) != rate {
				t.Errorf("%g/s, want %s", s.Rate, rate)
			}
			if acceptance() {
				time.Sleep(time.Duration(150+i%3*50) * time.Millisecond)
			} else {
				b.started(cuts[len(cuts)-1].asked + 20)
			}
		}
	}
	if a := b.report("fast").Audit; a.LateDropped > 0 {
		t.Errorf("dropped before the stop: %+v", a)
	}
	stopped := b.change("stop", "fast")
	if count := b.web.Count(); acceptance() {
		time.Sleep(200 * time.Millisecond)
		if n := b.web.Count(); n != count {
			t.Errorf("%d requests arrived after stop had returned", n-count)
		}
	}
	for _, p := range ps {
		p.wait(0)
	}
	r, asked := b.report("fast"), b.askedAt("fast", stopped.At)
	// A stop drops what is late, which on a quiet machine is nothing.
	if a := r.Audit; acceptance() && a.LateDropped > 0 || a.Skipped+a.Lost > 0 || written(r) != b.web.Count() || a.Asked-asked < -2 || a.Asked-asked > 2 {
		t.Fatalf("%d arrived, asked %d, %+v", b.web.Count(), asked, r.Audit)
	}
	if !acceptance() {
		return
	}
	times := b.web.Arrivals()
	var after []time.Duration
	for _, c := range cuts {
		after = append(after, time.Unix(0, times[c.asked-1]).Sub(c.returned))
	}
	slices.Sort(after)
	if median := after[len(after)/2]; median > 50*time.Millisecond {
		t.Errorf("the last arrival due under the old law came %v after the command returned (median of %v)", median, after)
	}
	t.Logf("last arrival under the old law after the command returned: median %v, max %v; overrun %d", after[len(after)/2], after[len(after)-1], r.Audit.Overrun)
}

// askedAt returns how many requests were asked for before an instant.
func (b *bed) askedAt(name string, at time.Time) int64 {
	b.t.Helper()
	client := b.redis.Client()
	r, err := run.Open(b.t.Context(), client, name)
	if err != nil {
		b.t.Fatal(err)
	}
	s, err := r.State(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	return s.AskedAt(at)
}

// TestManyChangesAddUp: after many changes of the rate, what arrives is the integral of the rate, and what workers sent
// before they received a cut.
func TestManyChangesAddUp(t *testing.T) {
	nightly(t)
	besides(t)
	b := newBed(t)
	ps := b.fleet(4, "many", append(unhurried(), "--qps", "1000", "--permit-for", scale("10m", "10s"))...)
	b.started(100)
	client := b.redis.Client()
	r, err := run.Open(t.Context(), client, "many")
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range scale(60, 300) {
		to := rate(rng.IntN(3000))
		set := func() (run.Change, error) { return r.SetRate(t.Context(), to, 0) }
		if _, err := rights.Change(t.Context(), r, set); err != nil {
			t.Fatal(err)
		}
		switch { // some cuts come soon after others
		case acceptance():
			time.Sleep(time.Duration(rng.IntN(400)) * time.Millisecond)
		case i%6 == 0:
			b.renewed("many")
		}
	}
	stopped := b.change("stop", "many")
	count := b.web.Count()
	for _, p := range ps {
		p.wait(0)
	}
	rep, arrived, asked := b.report("many"), b.web.Count(), b.askedAt("many", stopped.At)
	if written(rep) != arrived || acceptance() && count != arrived {
		t.Errorf("%d arrived when stop returned, %d after, %d sent", count, arrived, written(rep))
	}
	a := rep.Audit
	if d := written(rep) + a.LateDropped - asked - a.Overrun; d < -2 || d > 2 || a.Skipped+a.Lost > 0 || acceptance() && (a.Overrun > 2 || a.LateDropped > 0) {
		t.Errorf("%d arrived, the integral is %d, %+v", arrived, asked, a)
	}
	t.Logf("arrived %d, integral %d, overrun %d", arrived, asked, a.Overrun)
}

// TestPauseAndResume: nothing is sent in a pause, and nothing is made up for after it. The planned end is later by the
// length of the pause.
func TestPauseAndResume(t *testing.T) {
	besides(t)
	b := newBed(t)
	const rate = 100
	length := scale(time.Hour, 5*time.Second)
	ps := b.fleet(3, "pause", append(unhurried(), "--qps", fmt.Sprint(rate), "--duration", length.String())...)
	b.started(rate)
	paused := b.change("pause", "pause")
	if again := b.change("pause", "pause"); again.Changed {
		t.Error("pausing again changed something")
	}
	still := b.still("pause")
	if s := b.status("pause"); s.Phase != "paused" || s.Asked != b.askedAt("pause", paused.At) {
		t.Errorf("%+v", s)
	}
	resumed := b.change("resume", "pause")
	b.started(still + rate)
	if s := b.status("pause"); s.EndsAt.Sub(s.StartedAt) != length+resumed.At.Sub(paused.At) {
		t.Errorf("from %v to %v, paused from %v to %v", s.StartedAt, s.EndsAt, paused.At, resumed.At)
	}
	if !acceptance() {
		b.loadctl("stop", "pause")
	}
	for _, p := range ps {
		p.wait(0)
	}
	times, before, r := b.web.Arrivals(), b.askedAt("pause", paused.At), b.report("pause")
	// Overrun is what a frozen worker sent before it learned of the pause. A stop drops what is late.
	a := r.Audit
	if int64(len(times)) != written(r) || a.Sent+a.LateDropped != a.Asked+a.Overrun || a.Asked < still+rate-a.Overrun {
		t.Errorf("%d arrived, %+v", len(times), a)
	}
	slices.Sort(times)
	for i := still; i < int64(len(times)); i++ {
		due := resumed.At.Add(time.Duration(i-still) * time.Second / rate)
		if early := due.Sub(time.Unix(0, times[i])); early > 100*time.Millisecond { // the clocks of workers are not that of Redis
			t.Fatalf("arrival %d after the pause came %v before it was due", i-still, early)
		}
	}
	if !acceptance() {
		return
	}
	if a.Overrun > 0 || a.Asked != int64(length.Seconds()*rate) || still != before {
		t.Errorf("%d arrived before the pause, %d asked for, %+v", still, before, a)
	}
	grace := 50*time.Millisecond + time.Duration(r.Lag.Max) // requests due before the pause may be late
	for _, at := range times {
		if when := time.Unix(0, at); when.After(paused.At.Add(grace)) && when.Before(resumed.At) {
			t.Fatalf("a request arrived %v after the pause and %v before the resumption", when.Sub(paused.At), resumed.At.Sub(when))
		}
	}
	if n, most := evenness.MaxInWindow(times, time.Second), rate+int(rate*grace.Seconds())+1; n > most {
		t.Errorf("%d in a second, at most %d", n, most)
	}
	if took, want := time.Duration(times[len(times)-1]-times[0]), length+resumed.At.Sub(paused.At); took > want+grace+500*time.Millisecond || took < want-grace {
		t.Errorf("took %v, want %v", took, want)
	}
}

// TestWeights: each worker sends its weight of the whole. All have their share before the run is started.
func TestWeights(t *testing.T) {
	besides(t)
	b := newBed(t)
	b.loadctl(append([]string{"create", "weights"}, append(unhurried(), "--url", b.web.URL(), "--qps", "3000", "-n", scale("3000", "60000"), "--min-workers", "0")...)...)
	var ps []*process
	for i, w := range []string{"1", "1", "4"} {
		ps = append(ps, b.guest("weights", "--weight", w, "--id", fmt.Sprint("w", i)))
	}
	b.here("weights", 3)
	b.renewed("weights")
	b.renewed("weights")
	b.change("start", "weights")
	for _, p := range ps {
		p.wait(0)
	}
	r := b.report("weights")
	if a := r.Audit; b.web.Count() != a.Sent || a.Sent != a.Asked || a.Asked != scale[int64](3000, 60_000) || len(r.Workers) != 3 {
		t.Fatalf("%d arrived, %d workers, %+v", b.web.Count(), len(r.Workers), a)
	}
	for i, want := range []float64{1.0 / 6, 1.0 / 6, 4.0 / 6} {
		share := float64(r.Workers[i].Sent) / float64(r.Audit.Sent)
		t.Logf("worker %s: share %.4f, by weight %.4f", r.Workers[i].ID, share, want)
		if share < want*0.99 || share > want*1.01 {
			t.Errorf("worker %d sent %.4f of all, its weight is %.4f", i, share, want)
		}
	}
}

// TestJoinAndKill: workers join and are killed. When the leases of the killed ones (2 s) are over, the others take
// their share, on a quiet machine within a period of half a second.
func TestJoinAndKill(t *testing.T) {
	nightly(t)
	besides(t)
	b := newBed(t)
	rate := scale[int64](400, 2000)
	args := []string{"--qps", fmt.Sprint(rate), "--on-redis-loss", "stop"}
	ps := b.fleet(4, "elastic", args...)
	b.started(2 * rate)
	ps = append(ps, b.fleet(4, "elastic", args...)...)
	b.members("elastic", 8)
	b.started(b.web.Count() + 2*rate)
	if a := b.report("elastic").Audit; a.Lost > 0 || acceptance() && a.Skipped+a.LateDropped > 0 {
		t.Errorf("four joined, and %+v", a)
	}
	ps[0].Kill()
	ps[5].Kill()
	killed := time.Now()
	await.True(t, "both to be lost", func() bool {
		lost := 0
		for _, w := range b.status("elastic").Workers {
			if w.State == "lost" {
				lost++
			}
		}
		return lost == 2
	})
	await.True(t, "others to have their share", func() bool {
		before := b.report("elastic").Audit
		b.started(b.web.Count() + rate/4)
		after := b.report("elastic").Audit
		return after.Asked >= before.Asked+rate/4 && after.Skipped+after.Lost == before.Skipped+before.Lost
	})
	if acceptance() {
		time.Sleep(time.Until(killed.Add(8 * time.Second)))
	}
	b.loadctl("stop", "elastic")
	for i, p := range ps {
		if i != 0 && i != 5 {
			p.wait(0)
		}
	}
	r := b.report("elastic")
	n := b.web.Count()
	taken := rate * 2 / 8 / 2 // their slots in half a second
	if a := r.Audit; n < written(r) || n > a.Sent+a.Lost || acceptance() && (a.Skipped > taken || a.LateDropped > 0) {
		t.Errorf("%d arrived, %+v", n, a)
	}
	b.inTime(rate, r)
	if acceptance() {
		seconds := b.fullAgain(int(rate), killed.Add(3*time.Second), 4)
		t.Logf("%d arrived, sent %d, lost %d; seconds from the second after the kill: %v", n, r.Audit.Sent, r.Audit.Lost, seconds)
	}
}

// fullAgain checks that from an instant on each second has as many arrivals as were asked for.
func (b *bed) fullAgain(rate int, from time.Time, length int) []int {
	b.t.Helper()
	seconds := arrivals.PerSecond(b.web.Arrivals(), from.UnixNano())
	if len(seconds) < length {
		b.t.Fatalf("there were only %v", seconds)
	}
	for i, n := range seconds[:length] {
		if within := rate / 200; n < rate-within || n > rate+within {
			b.t.Errorf("second %d has %d arrivals: %v", i, n, seconds)
		}
	}
	return seconds
}

// TestKilledShare: a killed worker looks like one that is cut off. So the others leave its share alone until its
// lease ends. Declaring it dead ends that at once. The fleet never exceeds the rate.
func TestKilledShare(t *testing.T) {
	besides(t)
	for _, c := range []struct {
		name   string
		permit time.Duration
		says   bool
		back   time.Duration // time from the kill, or until Redis is informed of it, until the rate is back
	}{
		{"waited for", 3 * time.Second, false, 4 * time.Second},
		{"removed", time.Minute, true, time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			besides(t)
			b := newBed(t)
			rate := scale[int64](200, 1000)
			name := strings.ReplaceAll(c.name, " ", "-")
			args := []string{"--qps", fmt.Sprint(rate), "--permit-for", c.permit.String(), "--catch-up", scale("1s", "100ms")}
			ps := []*process{b.fleet(1, name, append(args, "--min-workers", "4", "--id", "dead")...)[0]}
			for range 3 {
				ps = append(ps, b.fleet(1, name, append(args, "--min-workers", "4")...)...)
			}
			b.started(rate)
			ps[0].signal(syscall.SIGKILL)
			<-ps[0].Exited
			killed := time.Now()
			known := killed
			if c.says {
				if out := b.loadctl("workers", "rm", name, "dead", "--force"); !strings.HasPrefix(out, name+": dead removed; ") {
					t.Error(out)
				}
				known = time.Now()
			} else {
				await.True(t, "the end of its lease", func() bool { return b.dead(name).State == "lost" })
				ends := b.dead(name).LastSeen.Add(c.permit)
				alone := (b.askedAt(name, ends) - b.askedAt(name, killed)) / 4
				await.True(t, "what it was leased to be counted as lost", func() bool { return b.report(name).Audit.Lost >= alone-10 })
			}
			asked := b.askedAt(name, known)
			await.True(t, "others to have its share", func() bool {
				before := b.report(name).Audit
				b.started(b.web.Count() + rate/4)
				after := b.report(name).Audit
				return after.Asked >= before.Asked+rate/4 && after.Skipped+after.Lost == before.Skipped+before.Lost
			})
			if acceptance() {
				time.Sleep(time.Until(known.Add(c.back + 4*time.Second)))
			}
			state := b.dead(name).State
			b.loadctl("stop", name)
			for _, p := range ps[1:] {
				p.wait(0)
			}
			r := b.report(name)
			n, a := b.web.Count(), r.Audit
			// If its share had been left alone for a minute, more would be lost than was asked for before.
			if n < written(r) || n > a.Sent+a.Lost || a.Lost == 0 || c.says && a.Lost > asked {
				t.Errorf("%d arrived, %d asked for when it was known, %+v", n, asked, a)
			}
			if state != map[bool]string{true: "removed", false: "lost"}[c.says] {
				t.Errorf("it is %s at the end", state)
			}
			b.inTime(rate, r)
			if !acceptance() {
				return
			}
			if (float64(a.Lost) > float64(rate)/2+float64(rate)/4*known.Sub(killed).Seconds()) == c.says {
				t.Errorf("%+v", a)
			}
			seconds := b.fullAgain(int(rate), known.Add(c.back), 3)
			if most := evenness.MaxInWindow(b.web.Arrivals(), time.Second); most > int(rate+rate/100) {
				t.Errorf("%d in a second", most)
			}
			t.Logf("%d arrived, sent %d, lost %d; seconds from %v after the kill: %v", n, a.Sent, a.Lost, c.back, seconds)
		})
	}
}

// inTime checks that the fleet never was ahead of a constant rate: the n-th arrival came after n requests were due.
func (b *bed) inTime(rate int64, r report.Report) {
	b.t.Helper()
	times := b.web.Arrivals()
	slices.Sort(times)
	for i, at := range times {
		due := r.StartedAt.Add(time.Duration(i) * time.Second / time.Duration(rate))
		if early := due.Sub(time.Unix(0, at)); early > 100*time.Millisecond { // the clocks of workers are not that of Redis
			b.t.Errorf("arrival %d came %v before it was due", i, early)
			return
		}
	}
}

// dead returns the worker to be declared dead.
func (b *bed) dead(name string) run.Worker {
	b.t.Helper()
	for _, w := range b.status(name).Workers {
		if w.ID == "dead" {
			return w
		}
	}
	b.t.Fatal("there is no worker called dead")
	return run.Worker{}
}

// stalling is a server that stands still for a while when a certain request arrives.
type stalling struct {
	at, count atomic.Int64
	length    time.Duration
	until     atomic.Pointer[time.Time]
}

// arrived waits for the end of the standstill.
func (s *stalling) arrived(string, time.Time) {
	if s.count.Add(1) == s.at.Load() {
		until := time.Now().Add(s.length)
		s.until.Store(&until)
	}
	if until := s.until.Load(); until != nil {
		time.Sleep(time.Until(*until))
	}
}

// TestStalledServer: requests due while the server stood still are sent, and their latency counts from then. It stands
// still for a fifth of the run. For a server that then answers at once p90 is a half of that time, and p99 is 0.95 of
// it. Working off the backlog takes time, more at higher rates.
func TestStalledServer(t *testing.T) {
	besides(t)
	requests, stall := scale[int64](1000, 10_000), scale(400*time.Millisecond, 2*time.Second)
	s := &stalling{length: stall}
	s.at.Store(requests * 3 / 10)
	url := "http://" + echotest.Listen(t, "127.0.0.1:0", func(c net.Conn) { answerAll(c, s.arrived) })
	b := &bed{t: t, redis: redistest.Start(t)}
	p := b.worker("stall", append([]string{"--max-lag", "5s"}, append(unhurried(), "--url", url, "--qps", scale("500", "1000"), "-n", fmt.Sprint(requests), "--max-connections", "64")...)...)
	p.wait(0)
	r := b.report("stall")
	if n := s.count.Load(); n != requests || r.Audit.Sent != requests {
		t.Errorf("%d arrived, %+v", n, r.Audit)
	}
	for _, q := range []struct {
		name string
		got  int64
		want time.Duration
	}{{"p90", r.Latency.P90, stall / 2}, {"p99", r.Latency.P99, stall * 95 / 100}} {
		// Less would be coordinated omission. More means that the machine works off the backlog slowly.
		if d := float64(q.got)/float64(q.want) - 1; d < -0.02 || acceptance() && d > 0.02 {
			t.Errorf("%s is %v, want %v within 2 %%", q.name, time.Duration(q.got), q.want)
		}
	}
	t.Logf("latency p90 %v, p99 %v; service time p99 %v", time.Duration(r.Latency.P90), time.Duration(r.Latency.P99), time.Duration(r.ServiceTime.P99))
}

func TestRedisCallsDoNotGrowWithTheRate(t *testing.T) {
	nightly(t)
	besides(t)
	b := newBed(t)
	perSecond := map[string]float64{}
	for _, qps := range []string{"100", scale("5000", "20000")} {
		before := b.calls()
		start := time.Now()
		for _, p := range b.fleet(2, "calls-"+qps, "--qps", qps, "--duration", scale("5s", "20s"), "-c", "30000", "--catch-up", "1h", "--max-lag", "1h") {
			p.wait(0)
		}
		calls := b.calls() - before
		perSecond[qps] = calls / time.Since(start).Seconds()
		t.Logf("%s per second: %.1f commands per second", qps, perSecond[qps])
		r := b.report("calls-" + qps)
		if r.Audit.Sent != r.Audit.Asked {
			t.Errorf("%+v", r.Audit)
		}
		if qps != "100" && calls > float64(r.Audit.Sent)/10 {
			t.Errorf("%.0f commands for %d requests", calls, r.Audit.Sent)
		}
	}
	if low, high := perSecond["100"], perSecond[scale("5000", "20000")]; acceptance() && high > 1.1*low {
		t.Errorf("%.1f commands per second at the low rate, %.1f at the high one", low, high)
	}
}

// calls returns how many scripts and commands clients have sent to Redis, by its own count.
func (b *bed) calls() float64 {
	b.t.Helper()
	info, err := b.redis.Client().InfoMap(b.t.Context(), "commandstats").Result()
	if err != nil {
		b.t.Fatal(err)
	}
	var n float64
	for name, line := range info["Commandstats"] {
		if name := strings.TrimPrefix(name, "cmdstat_"); name != "evalsha" && name != "eval" && name != "hget" {
			continue
		}
		var calls float64
		if _, err := fmt.Sscanf(line, "calls=%g", &calls); err != nil {
			b.t.Fatal(err)
		}
		n += calls
	}
	return n
}

func rate(perSecond int) pacer.Rate { return pacer.PerSecond(int64(perSecond)) }
