package limit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	again  = time.Second // how long a store is left alone after it did not answer
	silent = time.Second // how long a call waits for its answer
)

// FailOpen grants all calls while Redis is away. See FailShare for what away means.
func FailOpen() Option {
	return failing(func(s *Set) (*outage, error) { return &outage{open: true}, nil })
}

// FailClosed refuses all calls while Redis is away, without an error. See FailShare for what away means.
func FailClosed() Option { return failing(func(s *Set) (*outage, error) { return &outage{}, nil }) }

// FailShare lets each of so many members of a fleet (1 to 1,000,000) go on by itself while Redis is away, at its share of
// the limit: that of the constructor, or of PerKey. So all of them together stay at the limit, if Redis is away for all.
// If it is away for some, their shares come on top of what the others are granted.
//
// Redis is away if it does not answer within the timeouts of the client, within 1 s, or before the deadline of a caller.
// (The last two need ContextTimeoutEnabled.) That call waits in vain, once: then one call a second tries Redis again, and
// the others do not ask it. A caller whose deadline passes gets an error. A reply that somebody has to fix something
// (WRONGTYPE, NOAUTH, WRONGPASS, NOPERM, ERR) is an error of the call as well.
//
// A share has the burst of the limit, divided by the members, or else permits one by one. More at once are refused:
// TakeUpTo and Wait get them.
func FailShare(members int64) Option {
	return failing(func(s *Set) (*outage, error) {
		if members < 1 || members > 1_000_000 {
			return nil, fmt.Errorf("share of %d members: give the number of processes that use the limit, 1 to 1000000", members)
		}
		share := &Set{store: Memory(0)}
		for _, r := range s.rules {
			share.rules = append(share.rules, &rule{kind: gcra(), prefix: r.prefix + r.kind.name, of: func(key string) Limit {
				l := r.limit
				if r.of != nil {
					l = r.of(key)
				}
				return l.share(r.kind, members)
			}})
		}
		return &outage{share: share}, nil
	})
}

func failing(make func(*Set) (*outage, error)) Option {
	return Option{name: "Fail", apply: func(s *Set) (err error) {
		if s.outage != nil {
			return errors.New("choose one of FailOpen, FailClosed and FailShare")
		}
		s.outage, err = make(s)
		return err
	}}
}

// share returns a part of a limit: the same Count in a window so many times as long.
func (l Limit) share(k kind, members int64) Limit {
	burst := int64(1)
	if k.bursts && !k.queues {
		burst = max(1, l.burst()/members)
	}
	if l.check(k.bursts) != nil {
		return l
	}
	count, window := l.Count, l.Window
	if int64(maxWindow/window) >= members {
		window *= time.Duration(members)
	} else {
		count = max(1, int64(float64(count)*float64(maxWindow)/float64(window)/float64(members)))
		window = maxWindow
	}
	part := Limit{Count: count, Window: window, Burst: burst}
	part.Burst = min(burst, part.maxBurst())
	return part
}

// outage is what a set does while its store is away, and whether it is: a circuit breaker.
type outage struct {
	open  bool
	share *Set // nil: FailOpen or FailClosed

	mu     sync.Mutex
	away   bool      // the store did not answer
	trying bool      // a caller tries it again
	next   time.Time // when away: time of the next try
}

// ask asks the store, or decides instead of it, as fell says.
func (s *Set) ask(ctx context.Context, key string, n int64, all bool) (a Answer, fell bool, err error) {
	o := s.outage
	if o == nil {
		a, err = s.store.take(ctx, s, key, n, all)
		return a, false, err
	}
	if o.asks() {
		asked, cancel := context.WithTimeout(ctx, silent)
		a, err = s.store.take(asked, s, key, n, all)
		cancel()
		answered := o.note(ctx, err)
		if err == nil {
			return a, false, nil
		}
		if err = failed(ctx, answered, err); err != nil {
			return Answer{}, false, err
		}
	}
	a, err = o.instead(ctx, s, key, n, all)
	return a, true, err
}

// askMany is ask for many keys.
func (s *Set) askMany(ctx context.Context, keys []string, n int64) (answers []Answer, fell []bool, errs []error) {
	fell = make([]bool, len(keys))
	o := s.outage
	if o == nil {
		answers, errs = s.store.takeMany(ctx, s, keys, n)
		return answers, fell, errs
	}
	answers, errs = make([]Answer, len(keys)), make([]error, len(keys))
	ask, answered := o.asks(), true
	if ask {
		asked, cancel := context.WithTimeout(ctx, silent)
		answers, errs = s.store.takeMany(asked, s, keys, n)
		cancel()
		worst := max(0, slices.IndexFunc(errs, func(err error) bool { return away(ctx, err) }))
		answered = o.note(ctx, append(errs, nil)[worst])
	}
	for i, key := range keys {
		if ask && errs[i] == nil {
			continue
		}
		if errs[i] = failed(ctx, answered || !away(ctx, errs[i]), errs[i]); errs[i] == nil {
			answers[i], errs[i] = o.instead(ctx, s, key, n, true)
			fell[i] = true
		}
	}
	return answers, fell, errs
}

// instead decides while the store is away. Nothing of it can be given back.
func (o *outage) instead(ctx context.Context, s *Set, key string, n int64, all bool) (Answer, error) {
	switch {
	case o.open:
		return Answer{Granted: n, Remaining: maxCount - n}, nil
	case o.share == nil:
		return Answer{RetryAfter: max(breath, o.rest())}, nil
	}
	a, err := o.share.store.take(ctx, o.share, key, n, all)
	if errors.Is(err, ErrNever) && n <= s.atOnce(key) {
		// They would be due one after the other.
		l, _ := o.share.rules[0].limitOf(key)
		a, err = o.share.store.take(ctx, o.share, key, 0, true)
		each := float64(l.Window.Microseconds()) / float64(l.Count)
		wait := min(math.Ceil(float64(n-max(1, a.Remaining))*each), maxWindow.Seconds()*1e6)
		a.RetryAfter += time.Duration(wait) * time.Microsecond
	}
	a.at, a.name, a.joint = 0, 0, nil
	return a, err
}

// atOnce returns how many permits can ever be granted at once by the limits that the set was made with: capacity() of
// the scripts.
func (s *Set) atOnce(key string) int64 {
	most := int64(maxCount)
	for _, r := range s.rules {
		l, err := r.limitOf(key)
		switch {
		case err != nil: // the call fails with it
		case !r.kind.bursts:
			most = min(most, l.Count)
		case r.kind.option == "Debt" && r.option == 1:
			most = min(most, l.maxBurst())
		default:
			most = min(most, l.burst())
		}
	}
	return most
}

// shares reports whether the set is on its share now.
func (o *outage) shares() bool {
	if o == nil || o.share == nil {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.away
}

// asks reports whether the caller must ask the store: it is here, or the caller tries whether it is back. If so, the
// caller must call note.
func (o *outage) asks() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.away && (o.trying || time.Now().Before(o.next)) {
		return false
	}
	o.trying = o.away
	return true
}

// rest returns how long the store is left alone.
func (o *outage) rest() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	return time.Until(o.next)
}

// note notes the result of a call. It reports whether the store has answered, or the caller gave up, which says nothing.
func (o *outage) note(ctx context.Context, err error) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.trying = false
	switch {
	case away(ctx, err):
		o.away, o.next = true, time.Now().Add(again)
		return false
	case err == nil || mistaken(err) && !errors.Is(err, errLimit): // of a wrong limit the store was not asked
		o.away = false
	}
	return true
}

// failed returns what a call that failed with err means to its caller. nil: go on, because nobody has answered and the
// caller still has time. If it has none, the error has both: the end of the context, and err.
func failed(ctx context.Context, answered bool, err error) error {
	switch end := ctx.Err(); {
	case end == nil && !answered:
		return nil
	case end == nil, errors.Is(err, end):
		return err
	default:
		return fmt.Errorf("%w: %w", end, err)
	}
}

// away reports whether an error means that nobody could answer. It does not if the caller gave up, waited as long as
// it would, or asked for something impossible.
func away(ctx context.Context, err error) bool {
	switch {
	case err == nil || mistaken(err) || errors.Is(ctx.Err(), context.Canceled):
		return false
	case ctx.Err() != nil:
		return errors.Is(err, errSilent)
	}
	return true
}

// mistaken reports whether an error would be the same for every repetition: somebody must fix it.
func mistaken(err error) bool {
	if errors.Is(err, ErrNever) || errors.Is(err, errNone) || errors.Is(err, errLimit) {
		return true
	}
	reply, ok := errors.AsType[redis.Error](err)
	if !ok {
		return false
	}
	code, _, _ := strings.Cut(reply.Error(), " ")
	return slices.Contains([]string{"ERR", "WRONGTYPE", "NOAUTH", "WRONGPASS", "NOPERM"}, code)
}
