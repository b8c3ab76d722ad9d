package pacer

import (
	"context"
	"errors"
	"time"
)

// How long a worker waits for a run whose state is gone when its permit is over, and how long it fires on that at most: as long as there
// is no state nobody can tell the fleet anything.
const (
	lostPatience = 3 * time.Second
	lostLimit    = 10 * time.Second
)

// reassert repeats the last command where what the server grants shows that it has forgotten it.
func (l *Leaser) reassert(ctx context.Context, r Reply) {
	if l.before == nil || r.Range.N == 0 {
		return
	}
	if l.before.differs(r) && l.Reassert != nil {
		l.Log.Warn("Redis has forgotten the last command; repeating it")
		limit, cancel := context.WithTimeout(ctx, l.patience()) // leasing waits for it
		defer cancel()
		if err := l.Reassert(limit, *l.before, r.Range.Law.ID); err != nil {
			l.Log.Warn("cannot repeat the last command", "err", err)
		}
	}
	l.before = nil
	l.known.settle()
}

// restore has the run's state made anew, or waits for another who does. What is leased and the permit go on meanwhile.
// It gives up when the permit has been over for a while. When the permit is over the run may have been stopped since, and removed: then
// it is restored by others or not at all.
func (l *Leaser) restore(ctx context.Context) error {
	now := l.Clock.Now()
	if l.forgotten == 0 {
		l.forgotten = now
		l.lost()
	}
	over := l.abandoned()
	var err error
	if l.Restore != nil {
		known := l.known
		if now >= over {
			known = Known{} // too late to restore it, but not to hear that it was stopped
		}
		limit, cancel := context.WithTimeout(ctx, 4*l.patience()) // it makes up to four calls
		err = l.Restore(limit, known)
		cancel()
		l.trouble(err)
	}
	if errors.Is(err, ErrNoState) || now > over+int64(lostPatience) {
		return ErrNoState
	}
	l.suspect = true // ask again at once
	select {
	case <-time.After(callTimeout / 4):
	case <-ctx.Done():
	}
	return nil
}

// lost says that the state is gone, and what that means for how long. Of a closed loop, which is given no slots, only when it ends is
// known here: whether it sends until then is not decided by the Leaser.
func (l *Leaser) lost() {
	if l.known.Law.F == 0 && l.standby.Phi() == 0 {
		l.Log.Warn("the run's state is gone from Redis; this worker ends if no worker that was given the run's description restores it",
			"in", l.left(l.Clock.Redis(l.abandoned()+int64(lostPatience))/1000))
		return
	}
	l.Log.Warn("the run's state is gone from Redis; going on by itself until a worker that was given the run's description restores it",
		"for", l.left(l.Clock.Redis(l.abandoned())/1000))
}

// abandoned is when a run whose state is gone is given up, ns of the local clock.
func (l *Leaser) abandoned() int64 {
	permitted := l.Clock.Local(max(l.standby.Until, l.ack+l.Horizon.Microseconds()) * 1000)
	return max(l.forgotten, min(permitted, l.forgotten+int64(lostLimit)))
}
