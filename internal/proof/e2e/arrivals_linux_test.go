package e2e

import (
	"bufio"
	"fmt"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/echotest"
	"github.com/loadctl/loadctl/internal/proof/evenness"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/pacer"
)

// A diary notes when each slot arrived. Its requests are for /NUMBER.
type diary struct {
	mu  sync.Mutex
	at  map[int64][]time.Time
	all int64
	bad string // a path that is no number

	held chan struct{} // no request is answered until it is closed; nil = all are answered at once
}

// hold makes it answer nothing until release, or the end of the test.
func (d *diary) hold(t *testing.T) {
	held := make(chan struct{})
	d.mu.Lock()
	defer d.mu.Unlock()
	d.held = held
	t.Cleanup(d.release)
}

// release makes it answer all requests.
func (d *diary) release() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.held != nil {
		close(d.held)
		d.held = nil
	}
}

// serve answers the requests of a connection.
func (d *diary) serve(c net.Conn) {
	answerAll(c, func(line string, at time.Time) {
		if held := d.note(line, at); held != nil {
			<-held
		}
	})
}

// answerAll answers each request of a connection after arrived, which gets its first line. It does little: times are exact
// only if the machine has time to spare.
func answerAll(c net.Conn, arrived func(line string, at time.Time)) {
	for br := bufio.NewReader(c); ; {
		line, err := br.ReadString('\n')
		at := time.Now()
		for header := line; err == nil && header != "\r\n"; {
			header, err = br.ReadString('\n')
		}
		if err != nil {
			return
		}
		arrived(line, at)
		if _, err := c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")); err != nil {
			return
		}
	}
}

// note notes the first line of a request. It returns what the answer waits for.
func (d *diary) note(line string, at time.Time) (held chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	path := strings.TrimSuffix(strings.TrimPrefix(line, "GET "), " HTTP/1.1\r\n")
	n, err := strconv.ParseInt(strings.TrimPrefix(path, "/"), 10, 64)
	if err != nil {
		d.bad = path
	}
	d.at[n] = append(d.at[n], at)
	d.all++
	return d.held
}

// startDiary returns a new diary, and the URL of its requests.
func startDiary(t *testing.T) (d *diary, url string) {
	t.Helper()
	d = &diary{at: map[int64][]time.Time{}}
	return d, "http://" + echotest.Listen(t, "127.0.0.1:0", d.serve) + "/${ordinal}"
}

func (d *diary) count() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.all
}

// more waits for n more requests.
func (d *diary) more(t *testing.T, n int64) {
	t.Helper()
	until := d.count() + n
	await.True(t, fmt.Sprint(until, " requests"), func() bool { return d.count() >= until })
}

// once checks that no slot arrived twice, and none before it was due. Slowness makes a request late, and never early.
func (d *diary) once(t *testing.T, due func(slot int64) time.Time, clocks time.Duration) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.bad != "" {
		t.Errorf("%s arrived", d.bad)
	}
	for slot, times := range d.at {
		if len(times) > 1 {
			t.Errorf("slot %d arrived %d times", slot, len(times))
			return
		}
		if early := due(slot).Sub(times[0]); early > clocks {
			t.Errorf("slot %d arrived %v before it was due", slot, early)
			return
		}
	}
}

// TestArrivals: three workers and one that leaves send one random sequence, that of its seed: each slot once, and none
// before it is due. On a quiet machine counts are exact, half of the arrivals are in time, and the gaps vary by 1.
func TestArrivals(t *testing.T) {
	besides(t)
	b := &bed{t: t, redis: redistest.Start(t)}
	d, url := startDiary(t)
	rate, length := scale[int64](100, 1000), 10*time.Minute
	var ps []*process
	for range 4 {
		ps = append(ps, b.worker("random", append(unhurried(), "--url", url, "--qps", fmt.Sprint(rate), "--arrivals", "poisson:7", "--duration", length.String(), "--min-workers", "4")...))
	}
	d.more(t, 150)
	ps[0].signal(syscall.SIGTERM)
	ps[0].wait(105)
	d.more(t, scale[int64](150, 20_000))
	stopped := b.change("stop", "random")
	for _, p := range ps[1:] {
		p.wait(0)
	}
	r := b.report("random")
	profile := pacer.Constant(pacer.PerSecond(rate), length)
	profile.Seed = 7
	var dues []time.Time
	for _, due := range profile.Slots() {
		dues = append(dues, r.StartedAt.Add(due))
	}
	// The clock of a worker is not quite that of Redis. Another seed, or an even rate, is 50 ms early and more.
	d.once(t, func(slot int64) time.Time { return dues[slot] }, scale(40*time.Millisecond, 2*time.Millisecond))
	asked := int64(0)
	for asked < int64(len(dues)) && dues[asked].Before(stopped.At) {
		asked++
	}
	// On a slow machine slots may be nobody's when one leaves, and a stop drops what is late.
	a := r.Audit
	if d.all != written(r) || a.Asked != asked || a.Lost > 0 || !r.Complete || acceptance() && (a.Skipped+a.Overrun+a.LateDropped > 0) {
		t.Errorf("%d arrived, the sequence has %d, %+v, complete %v %v", d.all, asked, a, r.Complete, r.Notes)
	}
	var came []int64
	var late []time.Duration
	for slot, times := range d.at {
		came, late = append(came, times[0].UnixNano()), append(late, times[0].Sub(dues[slot]))
	}
	slices.Sort(came)
	slices.Sort(late)
	if median := late[len(late)/2]; acceptance() && median > 20*time.Millisecond {
		t.Errorf("half of the arrivals are more than %v later than the sequence says", median)
	}
	if v := evenness.GapVariation(came); acceptance() && math.Abs(v-1) > 0.05 {
		t.Errorf("the gaps vary by %.3f, want 1.00 ± 0.05", v)
	} else {
		t.Logf("earliest %v, median %v; the gaps vary by %.3f", late[0], late[len(late)/2], v)
	}
}

// TestArrivalsAreCut: commands cut random arrivals. All that the audit asks for arrives, once.
func TestArrivalsAreCut(t *testing.T) {
	nightly(t)
	besides(t)
	b := newBed(t)
	ps := b.fleet(3, "cut", append(unhurried(), "--qps", "600", "--arrivals", "poisson")...)
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
	// A stop drops what is late.
	if a := r.Audit; n != written(r) || a.Sent+a.LateDropped != a.Asked+a.Overrun || acceptance() && a.LateDropped > 0 || !r.Complete {
		t.Errorf("%d arrived of %+v, complete %v %v", n, a, r.Complete, r.Notes)
	}
}
