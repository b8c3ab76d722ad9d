package watch

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/loadctl/loadctl/internal/run"
)

// Live writes the messages of a worker. On a terminal a line below them shows the progress of the run; elsewhere there
// is no such line.
//
//	live := watch.NewLive(os.Stderr)
//	log := slog.New(slog.NewTextHandler(live, nil))
//	defer live.Follow(ctx, aside)()
type Live struct{ line *line }

// NewLive returns a Live that writes to w.
func NewLive(w io.Writer) *Live { return &Live{line: newLine(w)} }

// Write implements io.Writer: whole lines appear above the progress line.
func (l *Live) Write(p []byte) (int, error) { return l.line.above(p) }

// Follow shows the progress of the run once a second, until the returned function is called, which removes the line. It
// sends no signs of life: a worker does not supervise. Errors do not end it, because the worker reports them itself. It
// opens the run only if there is a terminal.
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
			case <-time.After(time.Second): // Redis has lost the run, which may be restored
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
