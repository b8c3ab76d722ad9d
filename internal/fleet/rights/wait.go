package rights

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/ledger"
	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/fleet/reserve"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/fleet/spec"
)

// Wait is how a creation waits for room. Runs that wait for the same room get it in the order in which they came. Each
// creation waits for a ledger that grants nothing new yet.
type Wait struct {
	Room time.Duration // how long it waits for room, or for the end of a freeze; 0 = it does not
	Tell func(string)  // is told for what it begins to wait, and how long; nil = nobody
}

// Create is run.Create for a run that needs rights. It reserves the peak of the plan before it makes the run. A *RoomError says
// that there is no room, or was none for so long.
func (w Wait) Create(ctx context.Context, client rdb.Client, name string, asked spec.Spec, o run.Options) (*run.Run, bool, error) {
	l := &line{Wait: w, ledger: ledger.Ledger{Client: client}}
	defer l.leave()
	o.Make = reserving(l.reserve)
	return run.Create(ctx, client, name, asked, o)
}

const (
	// quietTime is how long each creation waits for a ledger that grants nothing new yet.
	quietTime = (reserve.TTL+reserve.Margin)*time.Microsecond + 4*time.Second
	// turnTime is from one try to the next. The place in the line is renewed each time.
	turnTime = 500 * time.Millisecond
)

// line is what a run that is not made yet has of its wait.
type line struct {
	Wait
	ledger ledger.Ledger
	began  time.Time      // of the wait; zero = it has not begun
	told   string         // for what it waits: the status of the newest refusal
	places []ledger.Place // one for each host that had no room
}

// entered returns when the run came; zero = it does not wait.
func (l *line) entered() time.Time {
	if l == nil || len(l.places) == 0 {
		return time.Time{}
	}
	return l.places[0].Entered
}

// reserve asks for the rights of a run. If there is no room yet, it waits for one turn and returns errAgain.
func (l *line) reserve(ctx context.Context, r *run.Run) (reservation, error) {
	k := NewKeeper(r)
	k.line = l
	right, err := k.first(ctx)
	refused, is := errors.AsType[*RoomError](err)
	if !is || refused.never {
		return right, err
	}
	if l.began.IsZero() {
		l.began = time.Now()
	}
	limit, waited := l.limit(refused), time.Since(l.began)
	if waited >= limit {
		if limit > 0 {
			refused.text += fmt.Sprintf(" (waited for %v)", waited.Round(time.Second))
		}
		return right, err
	}
	if err := l.enter(ctx, r, refused); err != nil {
		return right, err
	}
	l.tell(r.Name, limit-waited.Round(time.Second), refused)
	select {
	case <-time.After(turnTime):
		return right, errAgain
	case <-ctx.Done():
		return right, context.Cause(ctx)
	}
}

// tell says for what the run waits, if that is new.
func (l *line) tell(name string, most time.Duration, e *RoomError) {
	if l.told == e.Status || l.told != "" && e.behind {
		return
	}
	l.told = e.Status
	if l.Tell != nil {
		l.Tell(fmt.Sprintf("run %s waits for up to %v: %s", name, most, e.text))
	}
}

// limit returns how long the run waits after a refusal, since it began to. When the ledger grants again, all who waited for
// that get their turn, one after the other.
func (l *line) limit(e *RoomError) time.Duration {
	if e.Status == "QUIET" || e.behind && l.told == "QUIET" {
		return max(l.Room, quietTime)
	}
	return l.Room
}

// enter puts the run into the line at the host that refused it, and renews its other places.
func (l *line) enter(ctx context.Context, r *run.Run, e *RoomError) error {
	if !slices.ContainsFunc(l.places, func(p ledger.Place) bool { return p.Host == e.Host }) {
		people := ledger.People{Run: r.Name, Who: run.Who()}
		l.places = append(l.places, ledger.Place{Host: e.Host, Run: r.UID, Rate: e.wants, Entered: l.entered(), People: people})
	}
	_, err := l.ledger.Enter(ctx, l.places)
	return err
}

// leave takes the run out of the line. If that fails, its places end by themselves.
func (l *line) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), releaseTime)
	defer cancel()
	_ = l.ledger.Leave(ctx, l.places)
}
