package ledger

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/reserve"
)

// The line of runs that wait for room. No script reads it: clients agree among themselves who is the next. Two of them may
// read it at the same instant, and both find that they are. That costs fairness for a moment, and never the budget: the
// ledger alone gives room, whoever asks.

// queueKey has the line: "HOST RUN" → a place. It is forgotten if nobody renews a place.
const queueKey = "{load:_endpoints}:queue"

// placeTime is how long a place counts after it was renewed.
const placeTime = 5 * time.Second

// A Place is that of a run in the line of those that wait for room at a host.
type Place struct {
	Host    string // HOST:PORT
	Run     string // its uid
	Rate    int64  // that it wants
	Entered time.Time
	People  People
}

// place is what the line has of a Place. Times are µs of the ledger's clock.
type place struct {
	Rate    int64  `json:"rate"`
	Entered int64  `json:"entered"`
	Renewed int64  `json:"renewed"`
	People  People `json:"people"`
}

func (p Place) field() string { return p.Host + " " + p.Run }

// Enter puts places into the line, or renews them, which is to be done every second. It sets when they were entered, unless
// that is known: so a failover that forgets the line costs no place. It removes places that nobody renews. It returns the
// ledger as it was before.
func (l Ledger) Enter(ctx context.Context, places []Place) (State, error) {
	s, err := l.List(ctx)
	if err != nil {
		return s, err
	}
	var fields []any
	for i := range places {
		p := &places[i]
		if p.Entered.IsZero() {
			p.Entered = timeOf(s.Now.UnixMicro())
		}
		fields = append(fields, p.field(), encoded(place{p.Rate, p.Entered.UnixMicro(), s.Now.UnixMicro(), p.People}))
	}
	_, err = l.Client.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.HSet(ctx, queueKey, fields...)
		p.PExpire(ctx, queueKey, 2*placeTime)
		if len(s.left) > 0 {
			p.HDel(ctx, queueKey, s.left...)
		}
		return nil
	})
	if err != nil {
		return s, explain("wait for room", err)
	}
	return s, nil
}

// Leave takes places out of the line.
func (l Ledger) Leave(ctx context.Context, places []Place) error {
	var fields []string
	for _, p := range places {
		fields = append(fields, p.field())
	}
	if len(fields) == 0 {
		return nil
	}
	if err := l.Client.HDel(ctx, queueKey, fields...).Err(); err != nil {
		return explain("wait for room no longer", err)
	}
	return nil
}

// Line returns the ledger for those who look at the line. If nobody waits anywhere, which one short call says, it is empty.
func (l Ledger) Line(ctx context.Context) (State, error) {
	n, err := l.Client.Exists(ctx, queueKey).Result()
	if err != nil {
		return State{}, explain("ask who waits for room", err)
	}
	if n == 0 {
		return State{}, nil
	}
	return l.List(ctx)
}

// Before returns the places that share a rate with a host and were entered earlier; all, if a place was not entered.
// Who waits for the end of a freeze is in nobody's way, and without a budget nobody waits.
func (s State) Before(p Place) []Place {
	if s.Bound(p.Host).Rate >= reserve.Endless {
		return nil
	}
	return slices.DeleteFunc(s.InLine(p.Host), func(x Place) bool {
		return x.Run == p.Run || !p.Entered.IsZero() && byTime(x, p) > 0 || s.frozen(x.Host)
	})
}

// InLine returns the places that share a rate with a host, the first one first.
func (s State) InLine(host string) (all []Place) {
	group, _ := s.group(host)
	for _, p := range s.Queue {
		if other, _ := s.group(p.Host); other == group {
			all = append(all, p)
		}
	}
	return all
}

// frozen reports whether a budget that fits a host is frozen.
func (s State) frozen(host string) bool {
	return slices.ContainsFunc(s.Fitting(host), func(b Budget) bool { return b.Frozen })
}

// byTime orders places. A run has entered all of its places at the same time. So no two runs wait for each other.
func byTime(a, b Place) int {
	return cmp.Or(a.Entered.Compare(b.Entered), cmp.Compare(a.Run, b.Run), cmp.Compare(a.Host, b.Host))
}

// readQueue reads the line. Places that nobody renews are left out.
func (s *State) readQueue(stored map[string]string) {
	for field, text := range stored {
		p := decoded[place](text)
		host, run, named := strings.Cut(field, " ")
		age := s.Now.Sub(timeOf(p.Renewed))
		// After a failover the clock may be an earlier one: who is there renews its place in a moment.
		if !named || age > placeTime || age < -placeTime {
			s.left = append(s.left, field)
			continue
		}
		s.Queue = append(s.Queue, Place{host, run, p.Rate, timeOf(p.Entered), p.People})
	}
	slices.SortFunc(s.Queue, byTime)
}
