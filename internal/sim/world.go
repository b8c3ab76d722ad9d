package sim

import (
	"context"
	"fmt"
	"time"
)

// world is one simulation while it runs.
type world struct {
	plan    Plan
	start   time.Time
	epoch   int64 // when it began, ns since 1970
	server  *server
	members []*member
}

// now is the true time, ns since the simulation began.
func (w *world) now() int64 { return int64(time.Since(w.start)) }

func (w *world) trace(who, format string, a ...any) {
	if w.plan.Trace != nil {
		w.plan.Trace(time.Duration(w.now()), who, fmt.Sprintf(format, a...))
	}
}

// since is a time of the Redis clock as one of the simulation, for a trace.
func (w *world) since(redis int64) time.Duration {
	if redis == 0 {
		return 0
	}
	return time.Duration(redis*1000 - w.epoch - w.server.skew).Round(time.Microsecond)
}

// Run carries out a plan and judges what was sent. It must be called in a synctest bubble.
func Run(p Plan) Result {
	w := &world{plan: p, start: time.Now(), epoch: time.Now().UnixNano()}
	w.server = newServer(w, p.Options)
	ctx, cancel := context.WithCancel(context.Background())
	for i, mp := range p.Members {
		w.members = append(w.members, newMember(ctx, w, mp, i))
	}
	for _, m := range w.members {
		time.AfterFunc(m.Join, m.begin)
		if m.Leave > m.Join {
			time.AfterFunc(m.Leave, m.cancel)
		}
		if m.Crash > m.Join {
			time.AfterFunc(m.Crash, m.kill)
		}
	}
	for i, f := range p.Failover {
		time.AfterFunc(f.At-f.Forgets, w.server.forget)
		time.AfterFunc(f.At, func() { w.server.promote(i, f.Skew) })
	}
	for _, s := range p.Steps {
		time.AfterFunc(s.At, func() { w.server.step(s.By) })
	}
	if p.Lost > 0 {
		time.AfterFunc(p.Lost, w.server.lose)
	}
	for i, c := range p.Commands {
		time.AfterFunc(c.At, func() { w.server.command(i, c) })
	}
	w.wait(cancel)
	return w.judge()
}

// wait lets the run come to its end, and whoever has not heard of it a little later.
func (w *world) wait(cancel context.CancelFunc) {
	patience := time.NewTimer(w.plan.Length + time.Minute)
	for _, m := range w.members {
		select {
		case <-m.exited:
		case <-patience.C:
			cancel()
			for _, m := range w.members {
				<-m.exited
			}
			return
		}
	}
	cancel()
}
