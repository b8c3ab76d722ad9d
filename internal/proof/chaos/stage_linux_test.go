package chaos

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/internal/server/arrivals"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
)

// name is the name of every run.
const name = "chaos"

// when is the least run of the tests that plays a scenario.
type when int

const (
	onlyFull when = iota // make chaos
	daily                // make test-all
	always               // make test
)

// A scenario is a fault while a fleet sends, and the effects that it may have.
type scenario struct {
	name string
	when when // the least run of the tests that plays it

	workers int            // 0 = 8
	cut     int            // how many workers, the last ones, are in a network that can be cut off
	qps     int64          // 0 = 2000
	permit  time.Duration  // Tfb; 0 = 5 s
	lasts   time.Duration  // duration of the run
	redis   []string       // additional arguments of redis-server
	place   func(s *stage) // makes stage.redis and stage.url; nil = starts a redis-server
	play    func(s *stage) // the fault, and its end; nil = none
}

// A stage is where a scenario plays.
type stage struct {
	scenario
	t       *testing.T
	redis   *redistest.Server
	url     string // LOADCTL_REDIS of workers and commands
	web     *arrivals.Server
	network *network
	clock   *wallClock
	fleet   []*process

	began     int64 // first arrival, ns since 1970
	startedAt int64 // start of the run by the clock of Redis
	stoppedAt int64 // when a stop was in force, by the clock of Redis; 0 = the run has ended by itself
	fault     int64 // when something broke

	dead        []*process    // those that were killed
	interrupted *process      // the worker that was sent Ctrl-C
	frozen      *process      // the worker that was frozen
	stopped     bool          // the run ends by stop
	asLawsSay   bool          // only the laws in Redis say the rate that was asked for
	overrun     time.Duration // how long workers may send overrun: they slept when the rate changed
	counted     bool          // what was asked for is known to within a fifth of a second
	adrift      bool          // the clock of Redis differs from that of the arrivals
	promises    []promise

	law   schedule                     // the rate that was asked for
	asked func(from, to int64) float64 // its integral
	more  float64                      // how many requests the design permits beyond rate and lateness
	why   string                       // the reason for more
	line  time.Duration                // half of the shortest round trip to a distant Redis; 0 = Redis is on this machine

	row row
}

// A promise: between two instants, every second has at least this share of what was asked for.
type promise struct {
	from, to int64 // ns since 1970
	share    float64
}

// perform plays a scenario and returns its row; it fails the test if a promise was broken.
func perform(t *testing.T, sc scenario) row {
	t.Helper()
	switch {
	case testing.Short():
		sc.workers, sc.qps = 4, 400
	case !full():
		sc.qps = cmp.Or(sc.qps, 800)
	}
	sc.workers, sc.qps, sc.permit = cmp.Or(sc.workers, 8), cmp.Or(sc.qps, 2000), cmp.Or(sc.permit, 5*time.Second)
	s := &stage{scenario: sc, t: t}
	s.row.name = sc.name
	s.set()
	before := looked(t)
	s.begin()
	if sc.play != nil {
		sc.play(s)
	}
	if !full() && s.stoppedAt == 0 {
		s.goesOn()
	}
	s.end()
	s.row.busy, s.row.stolen = looked(t).since(before)
	s.judge()
	return s.row
}

// set starts everything but the fleet.
func (s *stage) set() {
	s.t.Helper()
	host := "127.0.0.1"
	if s.cut > 0 {
		s.network = newNetwork(s.t)
		host = hub
		s.scenario.redis = append([]string{"--bind", "127.0.0.1", hub, "--protected-mode", "no"}, s.scenario.redis...)
	}
	if s.place != nil {
		s.place(s)
	} else {
		s.redis = redistest.Start(s.t, s.scenario.redis...)
		s.url = "redis://" + net.JoinHostPort(host, s.port())
	}
	var err error
	if s.web, err = arrivals.Start(arrivals.Options{Addr: host + ":0"}); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { s.web.Close() })
	s.law = schedule{{from: 0, rate: float64(s.qps)}}
	s.asked = func(from, to int64) float64 { return s.law.integral(from, to) }
}

// port returns the port of Redis.
func (s *stage) port() string { return portOf(s.redis) }

func portOf(x *redistest.Server) string {
	_, port, _ := net.SplitHostPort(x.Addr())
	return port
}

// begin starts the fleet, and returns when each worker has sent, reported and got a lease.
func (s *stage) begin() {
	s.t.Helper()
	for i := range s.workers {
		s.worker(fmt.Sprint("w", i+1), s.workers-i <= s.cut)
	}
	await.Closed(s.t, "the first arrival", s.web.FirstArrival())
	s.began = s.web.Arrivals()[0]
	if full() {
		s.at(1500 * time.Millisecond)
		return
	}
	var r report.Report
	await.True(s.t, "counts of all workers", func() bool {
		r, _ = s.report()
		idle := slices.ContainsFunc(r.Workers, func(w report.WorkerReport) bool { return w.Sent == 0 })
		return len(r.Workers) == s.workers && !idle
	})
	s.startedAt = r.StartedAt.UnixNano()
}

// goesOn waits until all workers that are left have called the present server twice, and have sent for another second.
// Then it stops the run.
func (s *stage) goesOn() {
	s.t.Helper()
	for range 2 { // with the second call a worker has what the first one brought
		since := time.Now()
		await.True(s.t, "calls of all workers", func() bool { return s.called(since) })
	}
	from := s.web.Count()
	await.True(s.t, "arrivals after the fault", func() bool { return s.web.Count() >= from+s.qps })
	s.stopped, s.stoppedAt = true, s.change("stop", name)
}

// called reports whether Redis has the run, and all workers that are left have called it since an instant.
func (s *stage) called(since time.Time) bool {
	r, err := run.Open(s.t.Context(), s.redis.Client(), name)
	if err != nil {
		return false
	}
	state, err := r.State(s.t.Context())
	if err != nil || state.Phase != "running" {
		return false
	}
	seen := map[string]bool{}
	for _, w := range state.Workers {
		seen[w.ID] = w.LastSeen.After(since)
	}
	return !slices.ContainsFunc(s.fleet, func(p *process) bool {
		return !slices.Contains(s.dead, p) && p != s.interrupted && !seen[p.id]
	})
}

// worker starts one worker, in the network that can be cut off or in the test's.
func (s *stage) worker(id string, cuttable bool) *process {
	s.t.Helper()
	args := []string{"run", "--run", name, "--id", id, "-o", "json", "--url", s.web.URL(), "--qps", fmt.Sprint(s.qps), "--min-workers", fmt.Sprint(s.workers),
		"--permit-for", s.permit.String()}
	if full() {
		args = append(args, "--duration", s.lasts.String())
	}
	var where *network
	if cuttable {
		where = s.network
	}
	p := start(s.t, where, s.url, "loadworker", args...)
	p.id = id
	s.fleet = append(s.fleet, p)
	return p
}

// at waits until a time after the first arrival.
func (s *stage) at(d time.Duration) {
	time.Sleep(time.Duration(s.began + int64(d) - s.web.Now()))
}

// last waits while a state lasts.
func (s *stage) last(d time.Duration) { time.Sleep(d) }

// breaks records that something breaks now.
func (s *stage) breaks() { s.fault = s.web.Now() }

// kill kills a worker.
func (s *stage) kill(p *process) {
	p.Kill()
	s.dead = append(s.dead, p)
}

// allow allows some requests beyond rate and lateness.
func (s *stage) allow(n float64, why string) {
	s.more += n
	s.why = strings.TrimPrefix(s.why+"; "+why, "; ")
}

// loadctl runs a command that must succeed, and returns what it printed.
func (s *stage) loadctl(args ...string) string {
	s.t.Helper()
	p := start(s.t, nil, s.url, "loadctl", args...)
	if code := p.ends(); code != 0 {
		s.t.Errorf("loadctl %s: exit code %d\n%s", strings.Join(args, " "), code, p.Stderr.String())
	}
	return p.Stdout.String()
}

// change runs a command that changes the run, and returns when it is in force.
func (s *stage) change(args ...string) int64 {
	s.t.Helper()
	var c run.Change
	text := s.loadctl(append(args, "-o", "json")...)
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		s.t.Errorf("loadctl %s: %v\n%s", strings.Join(args, " "), err, text)
		return s.web.Now()
	}
	return c.At.UnixNano()
}

// rate makes this the rate asked for, from an instant on.
func (s *stage) rate(from int64, perSecond float64) {
	s.law = append(s.law, step{from: from, rate: perSecond})
}

// promise adds a promise to be checked at the end.
func (s *stage) promise(from, to int64, share float64) {
	s.promises = append(s.promises, promise{from: from, to: to, share: share})
}

// ends returns an instant just before the last request is due. It is earlier because the first request was late too.
func (s *stage) ends() int64 { return s.began + int64(s.lasts) - int64(20*time.Millisecond) }

// silent checks that nothing arrives after an instant, for half a second; requests in flight then may still arrive for
// a moment.
func (s *stage) silent(from int64) {
	s.t.Helper()
	s.last(500 * time.Millisecond)
	if n := between(s.web.Arrivals(), from+int64(5*time.Millisecond), s.web.Now()); n > 0 {
		s.t.Errorf("%d requests arrived after stop had returned", n)
	}
}

// end waits until every worker has ended.
func (s *stage) end() {
	s.t.Helper()
	for _, p := range s.fleet {
		if slices.Contains(s.dead, p) {
			continue
		}
		want := 0
		if p == s.interrupted {
			want = 105
		}
		if code := p.ends(); code != want {
			s.t.Errorf("%s: exit code %d, want %d", p.id, code, want)
		}
	}
	if s.t.Failed() {
		s.t.Log(s.complaints())
	}
}

// complaints returns the unusual messages of the workers.
func (s *stage) complaints() string {
	var b strings.Builder
	for _, p := range s.fleet {
		fmt.Fprintf(&b, "%s\n", p.id)
		for line := range strings.Lines(p.Stderr.String()) {
			if !strings.Contains(line, "level=INFO") {
				fmt.Fprintf(&b, "  %s", line)
			}
		}
	}
	return b.String()
}

// report returns the run's report, as far as there is one.
func (s *stage) report() (r report.Report, ok bool) {
	s.t.Helper()
	p := start(s.t, nil, s.url, "loadctl", "report", name, "-o", "json")
	code := p.ends()
	if err := json.Unmarshal([]byte(p.Stdout.String()), &r); err != nil {
		s.t.Errorf("report: %v, exit code %d\n%s", err, code, p.Stderr.String())
		return r, false
	}
	if want := map[bool]int{true: 1}[!r.Running && !r.Complete]; code != want {
		s.t.Errorf("report: exit code %d, want %d\n%s", code, want, p.Stderr.String())
	}
	return r, true
}

// published returns the intervals that the workers reported and that still exist. It returns false if some are
// missing, or use another clock than the arrivals.
func (s *stage) published(r report.Report) ([]interval, bool) {
	s.t.Helper()
	var gaps int64
	for _, w := range r.Workers {
		gaps += w.Gaps
	}
	messages, err := s.redis.Client().XRange(s.t.Context(), "{load:"+name+"}:snapshots", "-", "+").Result()
	if err != nil || s.adrift || gaps > 0 {
		return nil, false
	}
	var all []interval
	known, highest := map[string]uint64{}, map[string]uint64{}
	for _, m := range messages {
		text, _ := m.Values["s"].(string)
		var x record.Snapshot
		if err := x.UnmarshalBinary([]byte(text)); err != nil {
			s.t.Errorf("interval snapshot: %v", err)
			return nil, false
		}
		who := x.Worker + "/" + x.Incarnation
		known[who]++
		highest[who] = max(highest[who], x.Seq)
		late := x.Latency.Max()
		if s.frozen != nil && s.frozen.id == x.Worker {
			late = x.Lag.Max() // it saw the answers only after it was thawed
		}
		// A request is recorded when it has ended: a little after it arrived.
		all = append(all, interval{span: span{from: x.Start*1000 - late, to: x.End * 1000, late: late}, dropped: x.Counts.LateDropped})
	}
	for who, n := range highest {
		if known[who] != n {
			return nil, false
		}
	}
	slices.SortFunc(all, func(a, b interval) int { return cmp.Compare(a.to, b.to) })
	return all, len(highest) >= s.workers
}

// round formats a number for a table.
func round(x float64) string {
	if math.IsInf(x, 0) {
		return "-"
	}
	return fmt.Sprintf("%.0f", x)
}
