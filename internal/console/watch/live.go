package watch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/loadctl/loadctl/internal/console/screen"
	"github.com/loadctl/loadctl/internal/fleet/run"
)

// Live writes the messages of a worker. On a terminal the progress of the run stands below them, or takes the whole
// screen until somebody presses q; elsewhere there is no progress.
//
//	live := watch.NewLive(watch.Options{Out: os.Stderr, Every: time.Second})
//	log := slog.New(slog.NewTextHandler(live, nil))
//	defer live.Follow(ctx, aside)()
type Live struct {
	options Options
	line    *line

	mu     sync.Mutex
	screen *screen.Screen // nil = lines
}

// NewLive returns a Live that writes to o.Out.
func NewLive(o Options) *Live { return &Live{options: o, line: newLine(o.Out)} }

// Write implements io.Writer: whole lines appear above the progress line, or on the screen and then below it.
func (l *Live) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.screen != nil {
		return l.screen.Write(p)
	}
	return l.line.above(p)
}

// Follow shows the progress of the run, until the returned function is called, which removes it. It sends no signs of
// life: a worker does not supervise. Errors do not end it, because the worker reports them itself. It opens the run only
// if there is a terminal.
func (l *Live) Follow(ctx context.Context, open func(context.Context) (*run.Run, error)) (end func()) {
	if l.line.width() == 0 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var following sync.WaitGroup
	following.Go(func() {
		if in, out := l.options.terminal(); in != nil {
			err := each(ctx, open, func(r *run.Run) error { return l.onScreen(ctx, in, out, r) })
			if !errors.Is(err, ErrLeft) {
				return
			}
		}
		_ = each(ctx, open, func(r *run.Run) error {
			return follow(ctx, r.Name, brief(r), &lines{every: l.options.Every, line: l.line, closed: r.Spec.Max})
		})
	})
	return func() {
		cancel()
		following.Wait()
		l.line.clear()
	}
}

// each shows the run until it is over or the person has left. A run that Redis has lost may be restored.
func each(ctx context.Context, open func(context.Context) (*run.Run, error), show func(*run.Run) error) error {
	for ctx.Err() == nil {
		if r, err := open(ctx); err == nil {
			if err := show(r); err == nil || errors.Is(err, ErrLeft) {
				return err
			}
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
	return context.Cause(ctx)
}

// onScreen shows the run on the whole terminal. A bug of the screen must not end a worker: lines follow.
func (l *Live) onScreen(ctx context.Context, in, out *os.File, r *run.Run) (err error) {
	take := func(s *screen.Screen) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.screen = s
	}
	defer func() {
		bug := recover()
		take(nil)
		if bug != nil {
			fmt.Fprintf(l, "error: this is a bug of the screen, please report it: %v\n", bug)
			err = ErrLeft
		}
	}()
	return onScreen(ctx, l.options, in, out, r, take)
}

// above writes lines above the progress line.
func (l *line) above(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	width := l.width()
	if width == 0 || l.last == "" {
		return l.w.Write(p)
	}
	fmt.Fprint(l.terminal, "\r\x1b[K")
	n, err := l.w.Write(p)
	fmt.Fprint(l.terminal, cut(l.last, width))
	return n, err
}

// clear removes the progress line.
func (l *line) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.width() > 0 && l.last != "" {
		fmt.Fprint(l.terminal, "\r\x1b[K")
	}
	l.last = ""
}
