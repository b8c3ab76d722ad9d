package worker

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/proof/model"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/targets"
)

// sim is a whole fleet in virtual time: real Workers over the model of the scripts and clients without sockets.
// Make it inside a synctest bubble.
type sim struct {
	t     *testing.T
	began time.Time
	skew  time.Duration // Redis' clock is ahead of the workers' by this

	mu      sync.Mutex
	model   *model.Run
	first   int64       // T0 of the first law, µs; 0 = it was not seen
	limiter *simLimiter // nil = the run has none
	sends   []simSend
	members []*simMember

	gone  [][2]time.Duration // Redis cannot be reached by any worker, from … to
	cold  [][2]time.Duration // Redis stands still: what was called is carried out when it goes on
	deaf  [][2]time.Duration // messages are lost
	lossy [][2]time.Duration // replies are lost
	loses bool               // a worker may own slots and not know it: they count as lost
}

// simSend is one request. Its times are ns on the true Redis clock since the sim began.
type simSend struct {
	worker       string
	number       uint64 // of the call
	at, due, end int64
	by           *simMember
}

// simMember is one worker of the sim, with its faults.
type simMember struct {
	*sim
	Worker
	ctx    context.Context
	cancel context.CancelFunc
	exited chan struct{}

	messages chan lease.Message
	left     map[lease.Leaving]time.Duration // when the server first received it
	total    *record.Snapshot
	err      error

	delay   func() time.Duration // the delay of one way of a call; nil = none
	loss    func() bool          // whether a reply is lost; nil = never
	away    [2]time.Duration     // Redis cannot be reached, from … to
	crashed time.Duration        // when the process dies, 0 = never
	breaks  time.Duration        // when its client fails, 0 = never

	ousted bool               // others have what it held, and it may be alive: a process took its name, or a user removed it
	freeze [2]time.Duration   // when its first shard stands still, and how long
	asleep [][2]time.Duration // its process stands still, from … to

	journal simJournal
	client  simEndpoint
}

// simEndpoint is what a member's clients fire at.
type simEndpoint struct {
	latency     time.Duration
	connections int
	stall       [2]time.Duration // no answers, from … to
}

type simJournal struct {
	fails     [2]time.Duration // from … to
	ambiguous bool             // what fails was written all the same
	intervals map[uint64]*record.Snapshot
	total     *record.Snapshot
	points    map[int64]record.Point
}

func newSim(t *testing.T, rate int64, o model.Options) *sim {
	t.Helper()
	if o.Pieces == nil {
		o.Pieces = pieces(t, rate)
	}
	if o.Hold == 0 {
		o.Hold = 10_000_000
	}
	return &sim{t: t, began: time.Now(), skew: 1234567 * time.Microsecond, model: model.New(o, "server")}
}

func pieces(t *testing.T, rate int64) []pacer.Piece {
	ps, err := pacer.Constant(pacer.PerSecond(rate), 0).Pieces()
	if err != nil {
		t.Fatal(err)
	}
	return ps
}

// firstSlot is Worker.Started: it does not change, also if the state is lost.
func (s *sim) firstSlot() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first == 0 && s.model != nil {
		if all := s.model.Laws().All(); len(all) > 0 {
			s.first = all[0].T0
		}
	}
	return s.first
}

// since is the time of the sim.
func (s *sim) since() time.Duration { return time.Since(s.began) }

// redis is the Redis clock, µs.
func (s *sim) redis() int64 { return time.Now().Add(s.skew).UnixMicro() }

func within(d time.Duration, span [2]time.Duration) bool { return d >= span[0] && d < span[1] }

// add makes a member; it runs after start.
func (s *sim) add(id string) *simMember {
	m := &simMember{sim: s, messages: make(chan lease.Message, 16), exited: make(chan struct{}), left: map[lease.Leaving]time.Duration{}}
	m.ctx, m.cancel = context.WithCancel(s.t.Context())
	m.client = simEndpoint{latency: 2 * time.Millisecond, connections: 1000}
	m.journal = simJournal{intervals: map[uint64]*record.Snapshot{}, points: map[int64]record.Point{}}
	m.Worker = Worker{
		ID: id, Incarnation: "1", Server: m, Messages: m.messages, Clock: pacer.NewClock(), Journal: m,
		NewClient: func(shard int) (Client, error) { return m.open(shard), nil }, Started: s.firstSlot,
	}
	if s.limiter != nil {
		m.Grants = m
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.members = append(s.members, m) // members that already run iterate over them
	return m
}

func (m *simMember) start() {
	go func() {
		m.total, m.err = m.Run(m.ctx)
		close(m.exited)
	}()
}

// run starts all members and waits for their end.
func (s *sim) run() {
	for _, m := range s.members {
		m.start()
	}
	s.wait()
}

func (s *sim) wait() {
	for _, m := range s.members {
		<-m.exited
	}
}

// order gives a command and publishes it. It returns t0 as a time of the sim.
func (s *sim) order(kind string, ps []pacer.Piece) time.Duration {
	s.mu.Lock()
	t0, status := s.model.Command(s.redis(), kind, ps)
	laws := s.model.Laws().All()
	s.mu.Unlock()
	if status != "OK" {
		s.t.Errorf("%s: %s", kind, status)
	}
	s.publish(lease.Message{Laws: laws, LawsOnly: true}, nil)
	return time.Duration(t0)*time.Microsecond - time.Duration(s.began.Add(s.skew).UnixNano())
}

var errAway = errors.New("redis is away")

// Renew implements lease.Server.
func (m *simMember) Renew(ctx context.Context, c lease.Call) (lease.Reply, error) {
	if m.crashed > 0 && m.since() >= m.crashed || within(m.since(), m.away) || inAny(m.since(), m.gone) {
		<-ctx.Done()
		return lease.Reply{}, errAway
	}
	m.sleep()
	m.travel()
	if thaw := m.thaws() - m.since(); thaw > 0 {
		select {
		case <-time.After(thaw):
		case <-ctx.Done(): // the server has the call
			time.AfterFunc(m.thaws()-m.since(), func() { m.serve(c) })
			return lease.Reply{}, errAway
		}
	}
	r := m.serve(c)
	m.travel()
	if m.loss != nil && m.loss() {
		<-ctx.Done()
	}
	m.sleep()
	return r, ctx.Err()
}

// serve carries out a call.
func (m *simMember) serve(c lease.Call) lease.Reply {
	m.mu.Lock()
	if _, said := m.left[c.Leaving]; !said {
		m.left[c.Leaving] = m.since()
	}
	if m.model == nil {
		m.mu.Unlock()
		return lease.Reply{Status: lease.NoState, Seq: c.Seq, Wait: 100_000}
	}
	r := m.model.Renew(m.redis(), c)
	woken := m.model.Woken()
	m.mu.Unlock()
	m.publish(lease.Message{}, woken)
	return r
}

// thaws returns when Redis goes on: now, if it does not stand still.
func (s *sim) thaws() time.Duration {
	now := s.since()
	for _, span := range s.cold {
		if within(now, span) {
			now = max(now, span[1])
		}
	}
	return now
}

// sleep returns when the process runs.
func (m *simMember) sleep() { time.Sleep(m.wakes() - m.since()) }

// wakes returns when the process runs again: now, if it is not asleep.
func (m *simMember) wakes() time.Duration {
	now := m.since()
	for _, s := range m.asleep {
		if within(now, s) {
			now = max(now, s[1])
		}
	}
	return now
}

// publish sends a message to members by name; nil: to all.
func (s *sim) publish(msg lease.Message, to []string) {
	if inAny(s.since(), s.deaf) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.members {
		if to == nil && len(msg.Laws) > 0 || slices.Contains(to, m.ID) {
			time.AfterFunc(m.wakes()-s.since(), func() {
				select {
				case m.messages <- msg:
				default:
				}
			})
		}
	}
}

func (m *simMember) travel() {
	if m.delay != nil {
		time.Sleep(m.delay())
	}
}

// Publish implements Journal.
func (m *simMember) Publish(_ context.Context, interval, total *record.Snapshot, series *record.Series) error {
	m.sleep()
	m.mu.Lock()
	defer m.mu.Unlock()
	dead := m.crashed > 0 && m.since() >= m.crashed
	fails := dead || within(m.since(), m.journal.fails)
	if fails && (dead || !m.journal.ambiguous) {
		return errAway
	}
	j := &m.journal
	if interval.Seq != total.Seq || interval.Seq == 0 {
		m.t.Errorf("%s: interval %d, total %d", m.ID, interval.Seq, total.Seq)
	}
	if j.intervals[interval.Seq] == nil { // readers of the stream drop duplicates
		j.intervals[interval.Seq] = clone(interval)
	}
	j.total = clone(total)
	clear(j.points)
	for _, p := range series.Points() {
		j.points[p.Index] = p
	}
	if fails {
		return errAway
	}
	return nil
}

func clone(s *record.Snapshot) *record.Snapshot {
	c := record.NewSnapshot(s.Worker, s.Incarnation)
	c.Merge(s)
	c.Seq, c.Final, c.Outages = s.Seq, s.Final, slices.Clone(s.Outages)
	return c
}

// simClient is one shard's client.
type simClient struct {
	*simMember
	flight []targets.Result // in the order in which they end
	bell   chan struct{}
	freeze time.Duration // still to come
	closed bool
}

func (m *simMember) open(shard int) *simClient {
	c := &simClient{simMember: m, bell: make(chan struct{}, 1)}
	if shard == 0 {
		c.freeze = m.freeze[1]
	}
	return c
}

func (c *simClient) Now() int64 { return c.Clock.Now() }

func (c *simClient) Send(now, due int64, call targets.Call) bool {
	if len(c.flight) >= c.client.connections {
		return false
	}
	if c.closed {
		c.t.Error("send after close")
	}
	end := c.since() + c.client.latency
	if within(end, c.client.stall) || within(c.since(), c.client.stall) {
		end = c.client.stall[1] + c.client.latency
	}
	c.flight = append(c.flight, targets.Result{Call: call, Due: due, Sent: now, Done: now + int64(end-c.since())})
	zero := c.began.Add(c.skew).UnixNano()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sends = append(c.sends, simSend{worker: c.ID, number: call.Number, at: int64(c.since()), due: c.Clock.Redis(due) - zero, end: int64(end), by: c.simMember})
	return true
}

func (c *simClient) Poll(until int64, done func(targets.Result)) error {
	if c.crashed > 0 && c.since() >= c.crashed {
		return errors.New("crashed")
	}
	if c.breaks > 0 && c.since() >= c.breaks {
		return errors.New("broken")
	}
	if c.freeze > 0 && c.since() >= c.simMember.freeze[0] {
		time.Sleep(c.freeze)
		c.freeze = 0
	}
	wait := time.Duration(until - c.Now())
	if len(c.flight) > 0 {
		wait = min(wait, time.Duration(c.flight[0].Done-c.Now()))
	}
	if c.crashed > 0 {
		wait = min(wait, c.crashed-c.since())
	}
	defer c.sleep()
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-c.bell:
		}
	}
	for len(c.flight) > 0 && c.flight[0].Done <= c.Now() {
		done(c.flight[0])
		c.flight = c.flight[1:]
	}
	return nil
}

func (c *simClient) Wake() {
	select {
	case c.bell <- struct{}{}:
	default:
	}
}

func (c *simClient) Close() error {
	c.closed = true
	return nil
}

// books compares what each worker counted with what the server counted. It returns how many slots were asked for, and
// how many nobody owned.
func (s *sim) books() (asked, idle int64) {
	s.t.Helper()
	a := s.model.Audit(s.redis())
	sum := a.Idle
	for _, m := range s.members {
		owned := a.Owned[m.ID+"/"+m.Incarnation]
		sum += owned
		n := m.total.Counts
		if m.crashed > 0 {
			continue
		}
		if expected := m.ousted && errors.Is(m.err, pacer.ErrReplaced); m.err != nil && m.breaks == 0 && !expected {
			s.t.Errorf("%s: %v", m.ID, m.err)
		}
		accounted := n.Slots() - n.Beyond + n.Deduplicated
		if lost := s.loses && accounted < owned; accounted != owned && !lost && !m.ousted && !m.Closed { // a closed loop has no slots
			s.t.Errorf("%s owned %d slots, and accounts for %d: %+v", m.ID, owned, accounted, n)
		}
	}
	if sum != a.Asked {
		s.t.Errorf("asked %d, owned and idle %d", a.Asked, sum)
	}
	seen := map[int64]bool{}
	for _, x := range s.sends {
		// A slot that a limiter grants late is due when it is granted. One of a worker whose name was taken may be sent twice.
		if seen[x.due] && !s.members[0].Closed && s.limiter == nil && !s.ousted() {
			s.t.Errorf("two requests are due at %v", time.Duration(x.due))
		}
		seen[x.due] = true
	}
	return a.Asked, a.Idle
}

// audit asserts what must hold at the end of every run, and returns the fleet's counts.
func (s *sim) audit() record.Counts {
	s.t.Helper()
	s.books()
	all, crashed := record.NewSnapshot("", ""), false
	for _, m := range s.members {
		total := m.total
		if m.crashed > 0 {
			total, crashed = m.journal.total, true
		}
		m.auditJournal(total)
		all.Merge(total)
	}
	n := all.Counts
	slices.SortFunc(s.sends, func(a, b simSend) int { return int(a.at - b.at) })
	if !crashed && int64(len(s.sends)) != n.Sent {
		s.t.Errorf("%d requests were sent, the snapshots say %d", len(s.sends), n.Sent)
	}
	for _, x := range s.sends {
		// I3, with the clock error of the slowest round trip, and of a clock that counts µs.
		if e := int64(s.worstRTT()/2 + 2*time.Microsecond); x.at < x.due-e {
			s.t.Fatalf("%s sent %d ns before it was due", x.worker, x.due-x.at)
		}
	}
	return n
}

func (s *sim) worstRTT() time.Duration {
	for _, m := range s.members {
		if m.delay != nil {
			return 2 * maxDelay
		}
	}
	return 0
}

// auditJournal asserts that what was published is complete: no gap, no overlap, and the sum is the total.
func (m *simMember) auditJournal(total *record.Snapshot) {
	m.t.Helper()
	sum := record.NewSnapshot(m.ID, "1")
	for seq := uint64(1); seq <= uint64(len(m.journal.intervals)); seq++ {
		in := m.journal.intervals[seq]
		if in == nil {
			m.t.Fatalf("%s: interval %d is missing", m.ID, seq)
		}
		if before := m.journal.intervals[seq-1]; before != nil && before.End != in.Start {
			m.t.Errorf("%s: interval %d ends at %d, the next begins at %d", m.ID, seq-1, before.End, in.Start)
		}
		sum.Merge(in)
	}
	if sum.Counts != total.Counts || sum.Start != total.Start || sum.End != total.End {
		m.t.Errorf("%s: the intervals add up to %+v, the total is %+v", m.ID, sum.Counts, total.Counts)
	}
	var points int64
	for _, p := range m.journal.points {
		points += p.Sent
	}
	if points != total.Counts.Sent {
		m.t.Errorf("%s: the series has %d requests, sent were %d", m.ID, points, total.Counts.Sent)
	}
	if m.crashed == 0 && !m.journal.total.Final {
		m.t.Errorf("%s: the last snapshot is not final", m.ID)
	}
}

// maxInWindow is the largest number of sends in any window of length w. The sends are sorted.
func (s *sim) maxInWindow(w time.Duration) (most int) {
	first := 0
	for i, x := range s.sends {
		for x.at-s.sends[first].at >= int64(w) {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

// between counts the sends in [from, to).
func (s *sim) between(from, to time.Duration) (n int) {
	for _, x := range s.sends {
		if within(time.Duration(x.at), [2]time.Duration{from, to}) {
			n++
		}
	}
	return n
}

// even asserts I1 and the window bound for a rate that never changed. No slot is sent twice, and no window of length w
// has more than rate·w + 2 sends. The 2 is for a clock error of a µs at both ends.
func (s *sim) even(rate int64) {
	s.t.Helper()
	dues := make([]int64, len(s.sends))
	for i, x := range s.sends {
		dues[i] = x.due
	}
	slices.Sort(dues)
	for i := range dues[1:] {
		if gap := dues[i+1] - dues[i]; gap < int64(time.Second)/rate/2 {
			s.t.Fatalf("two requests due %d ns apart: a slot was sent twice", gap)
		}
	}
	for _, w := range []time.Duration{time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond, time.Second, 10 * time.Second} {
		if most, bound := s.maxInWindow(w), int(rate*int64(w)/int64(time.Second))+2; most > bound {
			s.t.Errorf("%d requests in %v, at most %d", most, w, bound)
		}
	}
}

const maxDelay = 15 * time.Millisecond

// network gives a member round trips of 2 … 2·maxDelay, and loses some replies.
func (m *simMember) network(seed uint64, loss float64) {
	r := rand.New(rand.NewPCG(seed, 3))
	var mu sync.Mutex // attempts of a call may be under way at the same time
	m.delay = func() time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return time.Millisecond + time.Duration(r.Int64N(int64(maxDelay-time.Millisecond)))
	}
	m.loss = func() bool {
		mu.Lock()
		defer mu.Unlock()
		return r.Float64() < loss
	}
}

// sent returns how many requests a worker sent in [from, to); "" means all workers.
func (s *sim) sent(id string, from, to time.Duration) (n int64) {
	for _, x := range s.sends {
		if (id == "" || x.worker == id) && x.at >= int64(from) && x.at < int64(to) {
			n++
		}
	}
	return n
}

// variation returns the variation of the gaps between a worker's requests: standard deviation / mean. "" means all workers.
func (s *sim) variation(id string) float64 {
	var last, sum, squares, n float64
	for _, x := range s.sends {
		if id != "" && x.worker != id {
			continue
		}
		if last > 0 {
			gap := float64(x.at) - last
			sum, squares, n = sum+gap, squares+gap*gap, n+1
		}
		last = float64(x.at)
	}
	mean := sum / n
	return math.Sqrt(max(0, squares/n-mean*mean)) / mean
}
