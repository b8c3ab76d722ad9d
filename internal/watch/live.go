package watch

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/loadctl/loadctl/internal/run"
)

// Live is what a worker says. On a terminal a line below it tells how the run goes; elsewhere there is no such line.
//
//	live := watch.NewLive(os.Stderr)
//	log := slog.New(slog.NewTextHandler(live, nil))
//	defer live.Follow(ctx, aside)()
type Live struct{ line *line }

// NewLive is a Live that writes to w.
func NewLive(w io.Writer) *Live { return &Live{line: newLine(w)} }

// Write implements io.Writer: whole lines come above the one that tells how the run goes.
func (l *Live) Write(p []byte) (int, error) { return l.line.above(p) }

// Follow shows how the run goes, once a second, until the function that it returns is called: that takes the line away, since what is shown then is
// the report. The run gets no sign of life: who sends does not supervise. Nothing that goes wrong ends it, as the worker says that itself. The run is
// opened only where there is a terminal.
func (l *Live) Follow(ctx context.Context, open func(context.Context) (*run.Run, error)) (end func()) {
	if l.line.width() == 0 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var following sync.WaitGroup
	following.Go(func() {
		for ctx.Err() == nil {
			if r, err := open(ctx); err == nil {
				o := onlooker{every: time.Second, line: l.line, closed: r.Spec.Max}
				if o.follow(ctx, r) == nil {
					return
				}
			}
			select {
			case <-time.After(time.Second): // Redis had lost the run, which may be restored
			case <-ctx.Done():
			}
		}
	})
	return func() {
		cancel()
		following.Wait()
		l.line.clear()
	}
}

// above writes lines above this one.
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

// clear takes the line away.
func (l *line) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.width() > 0 && l.last != "" {
		fmt.Fprint(l.terminal, "\r\x1b[K")
	}
	l.last = ""
}
