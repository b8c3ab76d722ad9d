package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/arrivals"
	"github.com/loadctl/loadctl/internal/await"
	"github.com/loadctl/loadctl/internal/run"
	"github.com/loadctl/loadctl/pacer"
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

func (b *bed) change(args ...string) run.Change {
	b.t.Helper()
	var c run.Change
	if err := json.Unmarshal([]byte(b.loadctl(append(args, "-o", "json")...)), &c); err != nil {
		b.t.Fatal(err)
	}
	return c
}

// TestSetRateIsFast changes the rate up and down. If n requests were asked for before the cut, the n-th arrival is the
// last one due under the old law.
func TestSetRateIsFast(t *testing.T) {
	b := newBed(t)
	b.fleet(4, "fast", append(patient(), "--qps", "1000")...)
	b.started(500)
	type cut struct {
		returned time.Time
		asked    int64
	}
	var cuts []cut
	for i := range scale(4, 20) {
		for _, rate := range []string{"3000", "500", "1000"} {
			c := b.change("set-rate", "fast", rate)
			returned := time.Now()
			await.True(t, "the cut to pass", func() bool { return time.Now().After(c.At.Add(10 * time.Millisecond)) })

			cuts = append(cuts, cut{returned: returned, asked: b.askedAt("fast", c.At)})
			time.Sleep(time.Duration(150+i%3*50) * time.Millisecond)
		}
	}
	if a := b.report("fast").Audit; a.LateDropped > 0 {
		t.Errorf("dropped before the stop: %+v", a)
	}
	b.loadctl("stop", "fast")
	count := b.web.Count()
	time.Sleep(200 * time.Millisecond)
	if n := b.web.Count(); n != count {
		t.Errorf("%d requests arrived after stop had returned", n-count)
	}
	r := b.report("fast")
	// A stop drops what is late, which on a quiet machine is nothing.
	if a := r.Audit; acceptance() && a.LateDropped > 0 || a.Skipped+a.Lost > 0 || written(r) != b.web.Count() {
		t.Errorf("%d arrived, %+v", b.web.Count(), r.Audit)
	}
	times := b.web.Arrivals()
	var after []time.Duration
	for _, c := range cuts {
		after = append(after, time.Unix(0, times[c.asked-1]).Sub(c.returned))
	}
	slices.Sort(after)
	if median := after[len(after)/2]; acceptance() && median > 50*time.Millisecond {
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

func TestManyChangesAddUp(t *testing.T) {
	besides(t)
	b := newBed(t)
	b.fleet(4, "many", append(patient(), "--qps", "1000")...)
	b.started(100)
	client := b.redis.Client()
	r, err := run.Open(t.Context(), client, "many")
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for range scale(60, 300) {
		b := rng.IntN(3000)
		if _, err := r.SetRate(t.Context(), rate(b), 0); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rng.IntN(scale(100, 400))) * time.Millisecond)
	}
	b.loadctl("stop", "many")
	count := b.web.Count()
	rep := b.report("many")
	await.True(t, "the last answers", func() bool { // a busy machine may accept late what was sent before the stop
		rep = b.report("many")
		return acceptance() || rep.Audit.InFlight == 0 && rep.Audit.Held == 0
	})
	if !acceptance() {
		count = b.web.Count()
	}
	time.Sleep(200 * time.Millisecond)
	rep = b.report("many")
	asked := b.askedAt("many", time.Now())
	if n := b.web.Count(); n != count || written(rep) != n {
		t.Errorf("%d arrived when stop returned, %d after, %d sent", count, n, written(rep))
	}
	if d := count - asked - rep.Audit.Overrun; d < -2 || d > 2 || acceptance() && rep.Audit.Overrun > 2 {
		t.Errorf("%d arrived, the integral is %d, %+v", count, asked, rep.Audit)
	}
	t.Logf("arrived %d, integral %d, overrun %d", count, asked, rep.Audit.Overrun)
}

func TestPauseAndResume(t *testing.T) {
	b := newBed(t)
	length := time.Duration(scale(2, 5)) * time.Second
	ps := b.fleet(3, "pause", append(patient(), "--qps", "1000", "--duration", "4s")...)
	b.started(1000)
	paused := b.change("pause", "pause")
	if again := b.change("pause", "pause"); again.Changed {
		t.Error("pausing again changed something")
	}
	await.True(t, "the length of the pause", func() bool { return time.Since(paused.At) > length })
	resumed := b.change("resume", "pause")
	for _, p := range ps {
		p.wait(0)
	}
	times := b.web.Arrivals()
	r := b.report("pause")
	// Overrun is what a frozen worker sent before it learned of the pause.
	if a := r.Audit; len(times) != int(a.Sent) || a.Asked != 4000 || a.Sent != 4000+a.Overrun || acceptance() && a.Overrun > 0 {
		t.Errorf("%d arrived, %+v", len(times), r.Audit)
	}
	grace := 50*time.Millisecond + time.Duration(r.Lag.Max) // requests due before the pause may be late
	for _, at := range times {
		if when := time.Unix(0, at); when.After(paused.At.Add(grace)) && when.Before(resumed.At) {
			t.Fatalf("a request arrived %v after the pause and %v before the resumption", when.Sub(paused.At), resumed.At.Sub(when))
		}
	}
	if n, most := arrivals.MaxInWindow(times, time.Second), 1000+int(1000*grace.Seconds())+1; n > most {
		t.Errorf("%d in a second, at most %d", n, most)
	}
	if took, want := time.Duration(times[len(times)-1]-times[0]), 4*time.Second+resumed.At.Sub(paused.At); took > want+grace+500*time.Millisecond || took < want-grace {
		t.Errorf("took %v, want %v", took, want)
	}
}

func TestWeights(t *testing.T) {
	b := newBed(t)
	var ps []*process
	for i, w := range []string{"1", "1", "4"} {
		ps = append(ps, b.worker("weights", append(patient(), "--url", b.web.URL(), "--qps", "3000", "--duration", scale("6s", "20s"), "--min-workers", "3",
			"--weight", w, "--id", fmt.Sprint("w", i))...))
	}
	for _, p := range ps {
		p.wait(0)
	}
	r := b.report("weights")
	for i, want := range []float64{1.0 / 6, 1.0 / 6, 4.0 / 6} {
		share := float64(r.Workers[i].Sent) / float64(r.Audit.Sent)
		t.Logf("worker %s: share %.4f, by weight %.4f", r.Workers[i].ID, share, want)
		if within := scale(0.1, 0.01); share < want*(1-within) || share > want*(1+within) {
			t.Errorf("worker %d sent %.4f of all, its weight is %.4f", i, share, want)
		}
	}
}

// TestJoinAndKill: workers join and are killed. When the promises of the killed ones (2 s) are over, the others take
// their share within a period of half a second.
func TestJoinAndKill(t *testing.T) {
	b := newBed(t)
	args := append(patient(), "--qps", "2000", "--duration", "14s", "--on-redis-loss", "stop")
	ps := b.fleet(4, "elastic", args...)
	b.started(4000)
	ps = append(ps, b.fleet(4, "elastic", args...)...)
	await.True(t, "eight members", func() bool { return b.status("elastic").Members == 8 })
	joined := b.web.Count()
	b.started(joined + 4000)
	if a := b.report("elastic").Audit; a.Lost > 0 || acceptance() && a.Skipped+a.LateDropped > 0 {
		t.Errorf("four joined, and %+v", a)
	}
	killed := time.Now()
	ps[0].Cmd.Process.Kill()
	ps[5].Cmd.Process.Kill()
	for i, p := range ps {
		if i != 0 && i != 5 {
			p.wait(0)
		}
	}
	r := b.report("elastic")
	n := b.web.Count()
	const taken = 2000 * 2 / 8 / 2 // their slots in half a second
	if a := r.Audit; n < a.Sent || n > a.Sent+a.Lost || a.Asked != 28_000 || acceptance() && (a.Skipped > taken || a.LateDropped > 0) {
		t.Errorf("%d arrived, %+v", n, a)
	}
	seconds := b.fullAgain(2000, killed.Add(3*time.Second), 4)
	t.Logf("%d arrived, sent %d, lost %d; seconds from the second after the kill: %v", n, r.Audit.Sent, r.Audit.Lost, seconds)
}

// fullAgain checks that from an instant on each second has as many arrivals as were asked for.
func (b *bed) fullAgain(rate int, from time.Time, length int) []int {
	b.t.Helper()
	seconds := arrivals.PerSecond(b.web.Arrivals(), from.UnixNano())
	if len(seconds) < length {
		b.t.Fatalf("there were only %v", seconds)
	}
	for i, n := range seconds[:length] {
		if within := scale(rate/2, rate/200); n < rate-within || n > rate+within {
			b.t.Errorf("second %d has %d arrivals: %v", i, n, seconds)
		}
	}
	return seconds
}

// TestKilledShare: a killed worker looks like one that is cut off. So the others leave its share alone until its
// promise ends. Declaring it dead ends that at once. The fleet never exceeds the rate.
func TestKilledShare(t *testing.T) {
	for _, c := range []struct {
		name   string
		permit time.Duration
		says   bool
		back   time.Duration // time from the kill, or until Redis is told of it, until the rate is back
	}{
		{"waited for", 3 * time.Second, false, 4 * time.Second},
		{"removed", time.Minute, true, time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBed(t)
			const rate = 1000
			name := strings.ReplaceAll(c.name, " ", "-")
			args := append(patient(), "--qps", fmt.Sprint(rate), "--duration", "11s", "--permit-for", c.permit.String())
			ps := []*process{b.fleet(1, name, append(args, "--min-workers", "4", "--id", "dead")...)[0]}
			for range 3 {
				ps = append(ps, b.fleet(1, name, append(args, "--min-workers", "4")...)...)
			}
			b.started(2 * rate)
			ps[0].signal(syscall.SIGKILL)
			killed := time.Now()
			<-ps[0].Exited
			known := killed
			if c.says {
				if out := b.loadctl("workers", "rm", name, "dead", "--force"); !strings.HasPrefix(out, name+": dead removed; ") {
					t.Error(out)
				}
				known = time.Now()
			} else {
				await.True(t, "its share to be left alone", func() bool { return b.dead(name).State == "silent" })
			}
			for _, p := range ps[1:] {
				p.wait(0)
			}
			r := b.report(name)
			n, a := b.web.Count(), r.Audit
			if n < a.Sent || n > a.Sent+a.Lost || a.Asked != 11*rate || a.Lost == 0 || (float64(a.Lost) > rate/2+rate/4*known.Sub(killed).Seconds()) == c.says {
				t.Errorf("%d arrived, %+v", n, a)
			}
			if state := b.dead(name).State; state != map[bool]string{true: "removed", false: "lost"}[c.says] {
				t.Errorf("it is %s at the end", state)
			}
			seconds := b.fullAgain(rate, known.Add(c.back), 3)
			if most := arrivals.MaxInWindow(b.web.Arrivals(), time.Second); acceptance() && most > rate+rate/100 {
				t.Errorf("%d in a second", most)
			}
			t.Logf("%d arrived, sent %d, lost %d; seconds from %v after the kill: %v", n, a.Sent, a.Lost, c.back, seconds)
		})
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

// TestStalledServer: requests due while the server stood still are sent, and their latency counts from then. For a
// server that then answers at once the exact values are p90 1.0 s and p99 1.9 s. Working off the backlog takes time,
// more at higher rates.
func TestStalledServer(t *testing.T) {
	b := newBed(t)
	qps := scale[int64](250, 1000)
	p := b.fleet(1, "stall", "--qps", fmt.Sprint(qps), "--duration", "10s", "--max-lag", "5s", "-c", "10000", "--max-connections", "64")[0]
	b.started(3 * qps)
	b.web.Stall(2 * time.Second)
	p.wait(0)
	r := b.report("stall")
	if n := b.web.Count(); n != 10*qps || r.Audit.Sent != 10*qps {
		t.Errorf("%d arrived, %+v", n, r.Audit)
	}
	for _, q := range []struct {
		name string
		got  int64
		want time.Duration
	}{{"p90", r.Latency.P90, time.Second}, {"p99", r.Latency.P99, 1900 * time.Millisecond}} {
		// Less than 2 s·(1−q) would be coordinated omission. More means that the machine works off the backlog slowly.
		if d := float64(q.got)/float64(q.want) - 1; d < -0.02 || d > scale(0.25, 0.02) {
			t.Errorf("%s is %v, want %v within 2 %%", q.name, time.Duration(q.got), q.want)
		}
	}
	t.Logf("latency p90 %v, p99 %v; service time p99 %v", time.Duration(r.Latency.P90), time.Duration(r.Latency.P99), time.Duration(r.ServiceTime.P99))
}

func TestRedisCallsDoNotGrowWithTheRate(t *testing.T) {
	b := newBed(t)
	perSecond := map[string]float64{}
	for _, qps := range []string{"100", scale("5000", "20000")} {
		before := b.calls()
		start := time.Now()
		for _, p := range b.fleet(2, "calls-"+qps, "--qps", qps, "--duration", scale("5s", "20s"), "--catch-up", "20s", "--max-lag", "20s") {
			p.wait(0)
		}
		perSecond[qps] = (b.calls() - before) / time.Since(start).Seconds()
		t.Logf("%s per second: %.1f commands per second", qps, perSecond[qps])
		if r := b.report("calls-" + qps); r.Audit.Sent != r.Audit.Asked {
			t.Errorf("%+v", r.Audit)
		}
	}
	if low, high := perSecond["100"], perSecond[scale("5000", "20000")]; high > scale(1.5, 1.1)*low {
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
