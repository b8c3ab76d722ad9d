package worker

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/proof/model"
)

// pair is a fleet of four workers in which events come close together.
type pair struct {
	*sim
	kind     string
	events   int
	plan     model.Options // of the run as it began
	stopped  bool          // a user said so
	servers  int           // that have taken over
	orders   int           // that were given
	forgot   bool          // a server does not know all that happened before
	deserted bool          // all workers had ended then, so the server does not receive the laws that it forgot
	last     time.Duration // when the last event came
	removed  time.Duration // when the run was removed; 0 = it was not
	allowed  []allowed     // in a closed loop with a concurrency: the numbers that were in force
}

const (
	pairRate  = 600                    // requests a second
	pairBegin = 600 * time.Millisecond // when the first slot is due
	pairFirst = 4 * time.Second        // when the first event comes
	pairAfter = 6 * time.Second        // from the last event to the stop
	faultTime = time.Second            // how long a fault lasts
)

// named returns a member that was added.
func (p *pair) named(id string) *simMember {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.members[slices.IndexFunc(p.members, func(m *simMember) bool { return m.ID == id })]
}

// join starts one more worker.
func (p *pair) join() { p.member(fmt.Sprintf("j%d", len(p.members))).start() }

// member adds a worker. With numbers it sends none twice.
func (p *pair) member(id string) *simMember {
	m := p.add(id)
	m.Unique, m.Closed, m.Seated = p.kind == "numbers", p.kind == "closed", p.kind == "seats"
	switch {
	case p.kind == "requests":
		m.Mix = eachSlotted(p.t)
	case m.Seated:
		m.client = simEndpoint{latency: seatedLatency, connections: 100}
	case m.Closed:
		m.client = simEndpoint{latency: 50 * time.Millisecond, connections: 2}
	}
	m.Restore = p.restore
	m.loss = func() bool { return inAny(p.since(), p.lossy) }
	return m
}

// inAny reports whether a time is in one of the spans.
func inAny(d time.Duration, spans [][2]time.Duration) bool {
	return slices.ContainsFunc(spans, func(s [2]time.Duration) bool { return within(d, s) })
}

// playAll reports whether every kind of run and every distance is played.
func playAll() bool { return os.Getenv("LOADCTL_PAIRS") != "" }

// runKinds are the kinds of runs in which pairs are played. make test plays those with numbers, make test-all two kinds, make
// sim all.
func runKinds() []string {
	switch {
	case testing.Short():
		return []string{"numbers"}
	case !playAll():
		return []string{"numbers", "limiter"}
	}
	return []string{"numbers", "plain", "limiter", "closed", "seats"}
}

// eventGaps are the times from one event to the next. make sim plays all, others one of three; make test plays it where the
// first event is no fault.
func eventGaps(first, second event) []time.Duration {
	const ms = time.Millisecond
	switch some := []time.Duration{50 * ms, 300 * ms, 1100 * ms}; {
	case playAll():
		return []time.Duration{0, 50 * ms, 150 * ms, 300 * ms, 600 * ms, 1100 * ms}
	case testing.Short() && first.harm:
		return nil
	default: // as good as any choice
		pick := (len(first.name) + len(second.name)) % len(some)
		return some[pick : pick+1]
	}
}

// TestPairs: whatever two events come close together, each slot that was asked for is sent once, or is counted under
// one reason. If nothing fails, all are sent, and none beyond what a command cut. With LOADCTL_PAIRS=FILE it writes the
// table of all pairs.
func TestPairs(t *testing.T) {
	var table pairTable
	for _, kind := range runKinds() {
		for _, first := range allEvents() {
			for _, second := range allEvents() {
				gaps := eventGaps(first, second)
				if len(gaps) == 0 {
					continue
				}
				t.Run(kind+", "+first.name+" and "+second.name, func(t *testing.T) {
					for _, gap := range gaps {
						t.Run(gap.String(), func(t *testing.T) {
							simulate(t, func(t *testing.T) {
								table.add(kind, first, second, play(t, kind, []event{first, second}, []time.Duration{gap}))
							})
						})
					}
				})
			}
		}
	}
	if file := os.Getenv("LOADCTL_PAIRS"); file != "" {
		if err := os.WriteFile(file, table.document(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// likelyTriples are the names of first, second and third events that operators and machines bring about.
func likelyTriples() (first, second, third []event) {
	return named("join", "leave", "two leave", "pause", "kill", "suspend 3 s", "no Redis"),
		named("rate up", "pause", "resume", "rm --force of a live one", "name of a suspended one", "state of 1 s ago"),
		named("rate down", "resume", "stop", "leave", "join")
}

// named returns events by their names.
func named(names ...string) (chosen []event) {
	for _, e := range allEvents() {
		if slices.Contains(names, e.name) {
			chosen = append(chosen, e)
		}
	}
	return chosen
}

// TestTriples is TestPairs for three events, each of which comes a short time after the one before.
func TestTriples(t *testing.T) {
	gaps := []time.Duration{50 * time.Millisecond, 300 * time.Millisecond}
	if testing.Short() {
		t.Skip("make test-all plays them; TestSequences has triples too")
	}
	first, second, third := likelyTriples()
	for _, kind := range runKinds() {
		for _, a := range first {
			for _, b := range second {
				for _, c := range third {
					for _, gap := range gaps {
						t.Run(fmt.Sprintf("%s, %s, %s, %s, %v", kind, a.name, b.name, c.name, gap), func(t *testing.T) {
							simulate(t, func(t *testing.T) { play(t, kind, []event{a, b, c}, []time.Duration{gap, gap}) })
						})
					}
				}
			}
		}
	}
}

// TestSequences plays random sequences of three to six events. LOADCTL_SEEDS is how many, LOADCTL_SEED the first.
func TestSequences(t *testing.T) {
	first, n := setting(t, "LOADCTL_SEED", 1), setting(t, "LOADCTL_SEEDS", 50)
	for seed := first; seed < first+n; seed++ {
		r := rand.New(rand.NewPCG(uint64(seed), 7))
		possible, kinds := allEvents(), []string{"numbers", "plain", "requests", "limiter", "closed", "seats"}
		kind := kinds[r.IntN(len(kinds))]
		var chosen []event
		var gaps []time.Duration
		name := fmt.Sprintf("%d %s", seed, kind)
		for i := range 3 + r.IntN(4) {
			chosen = append(chosen, possible[r.IntN(len(possible))])
			if name += ", " + chosen[i].name; i > 0 {
				gaps = append(gaps, time.Duration(r.Int64N(int64(1200*time.Millisecond))))
			}
		}
		t.Run(name, func(t *testing.T) { simulate(t, func(t *testing.T) { play(t, kind, chosen, gaps) }) })
	}
}

// TestSleepThroughAChange: a worker that is suspended while the rate changes, and leaves when it wakes up, accounts for no
// slot that it did not own.
func TestSleepThroughAChange(t *testing.T) {
	for _, kind := range []string{"plain", "numbers", "limiter"} {
		for _, asleep := range []string{"suspend 12 s", "suspend 40 s"} {
			for _, change := range []string{"rate down", "rate up", "planned end"} {
				t.Run(kind+", "+asleep+", "+change, func(t *testing.T) {
					chosen := slices.Concat(named(asleep), named("two leave"), named(change))
					simulate(t, func(t *testing.T) { play(t, kind, chosen, []time.Duration{400 * time.Millisecond, time.Second}) })
				})
			}
		}
	}
}

// TestSleepThroughAStop: a worker that is suspended while a rate changes for some seconds, and receives a stop when it
// wakes up, accounts for no slot that it did not own. Its law is over by then, and so is the one that should have
// followed. The message of the stop was lost.
func TestSleepThroughAStop(t *testing.T) {
	for _, kind := range []string{"plain", "numbers", "limiter"} {
		t.Run(kind, func(t *testing.T) {
			chosen := slices.Concat(named("rate over 2 s"), named("suspend 12 s"), named("lost messages"), named("stop"))
			simulate(t, func(t *testing.T) {
				play(t, kind, chosen, []time.Duration{350 * time.Millisecond, 500 * time.Millisecond, 300 * time.Millisecond})
			})
		})
	}
}

// setting reads a number from the environment.
func setting(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
