package pacer

import (
	"context"
	"errors"
	"time"
)

// lostPatience is how long a worker waits for a run whose state is gone, after its permit's end.
const lostPatience = 3 * time.Second

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
}

// restore has the run's state made anew, or waits for another who does. What is leased and the permit go on meanwhile.
// It gives up when the permit has been over for a while.
func (l *Leaser) restore(ctx context.Context) error {
	now := l.Clock.Now()
	if l.forgotten == 0 {
		l.forgotten = now
		l.Log.Warn("the run's state is gone from Redis")
	}
	var err error
	if l.Restore != nil {
		limit, cancel := context.WithTimeout(ctx, 4*l.patience()) // it makes up to four calls
		err = l.Restore(limit, l.known)
		cancel()
		l.trouble(err)
	}
	if errors.Is(err, ErrNoState) || now > max(l.forgotten, l.Clock.Local(l.standby.Until*1000))+int64(lostPatience) {
		return ErrNoState
	}
	l.suspect = true // ask again at once
	select {
	case <-time.After(callTimeout / 4):
	case <-ctx.Done():
	}
	return nil
}
