package watch

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/loadctl/loadctl/internal/fleet/results"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/output/printable"
	"github.com/loadctl/loadctl/report/units"
)

// inLines shows a run in lines.
func inLines(ctx context.Context, l *line, every time.Duration, r *run.Run) error {
	defer l.end()
	return follow(ctx, r.Name, brief(r), &lines{line: l, every: every, closed: r.Spec.Max})
}

// brief looks at what a line shows of a run, which is less than a report.
func brief(r *run.Run) looker {
	var f *results.Follower
	return func(ctx context.Context) (now results.Look, err error) {
		if f == nil {
			f, err = results.Follow(ctx, r)
		}
		if err == nil {
			now.Progress, err = f.Progress(ctx)
		}
		return now, err
	}
}

// lines show progress when it is time to.
type lines struct {
	line     *line
	every    time.Duration
	closed   bool      // the run is a closed loop
	shown    time.Time // when the last line was written
	troubled bool      // the last line says that Redis cannot be reached
}

// Trouble shows why there is no progress, once until there is progress again.
func (o *lines) Trouble(why string) {
	if o.every > 0 && !o.troubled {
		o.line.show(why)
	}
	o.troubled = true
}

// Show shows the progress if it is time to, or if the last line is no longer true.
func (o *lines) Show(now results.Look) {
	const early = 500 * time.Millisecond // the ticks are not exact
	due := time.Since(o.shown) >= o.every-early
	if o.every > 0 && (due || o.troubled || now.Settled) {
		o.line.show(describe(now.Progress, o.closed))
		o.shown = time.Now()
	}
	o.troubled = false
}

// line is a line of progress.
type line struct {
	w        io.Writer
	terminal *os.File // nil = not a terminal

	mu   sync.Mutex
	last string
}

func newLine(w io.Writer) *line {
	l := &line{w: w}
	if f, ok := printable.File(w); ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" {
		l.terminal = f
	}
	return l
}

// width returns the width of the terminal; 0 = unknown, or no terminal.
func (l *line) width() int {
	if l.terminal == nil {
		return 0
	}
	width, _, err := term.GetSize(int(l.terminal.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// show writes the line: on a terminal over the one before, elsewhere only if it is new.
func (l *line) show(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	text = printable.Line(text) // errors may quote a server
	if width := l.width(); width > 0 {
		fmt.Fprintf(l.terminal, "\r\x1b[K%s", cut(text, width))
	} else if text != l.last {
		fmt.Fprintln(l.w, text)
	}
	l.last = text
}

// cut returns as much of a text as fits on a line of a terminal. The last column stays free, or else some terminals
// would begin a new line.
func cut(text string, width int) string {
	if r := []rune(text); len(r) >= width {
		return string(r[:width-1])
	}
	return text
}

// end leaves the last line where it is.
func (l *line) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.width() > 0 && l.last != "" {
		fmt.Fprintln(l.w)
	}
}

// describe returns one line about a run: time, rate, counts up to the last whole second, latency of the last second,
// workers. A closed loop has no rate, and nothing is asked for.
func describe(p results.Progress, closed bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: ", p.Run)
	switch {
	case p.Phase == "waiting" && p.MinWorkers == 0:
		fmt.Fprintf(&b, "waits for loadctl start, workers %d", p.Members)
		return b.String()
	case p.Phase == "waiting":
		fmt.Fprintf(&b, "waits for workers, %d of %d are here", p.Members, p.MinWorkers)
		return b.String()
	case p.Phase == "running" && p.Concurrency > 0:
		fmt.Fprintf(&b, "c=%d", p.Concurrency)
	case p.Phase == "running" && closed:
		b.WriteString("max")
	case p.Phase == "running":
		fmt.Fprintf(&b, "%s/s", units.Thousandths(p.Rate))
		if share := units.OfPlan(p.Factor); share != "" {
			fmt.Fprintf(&b, " (%s)", share)
		}
	default:
		b.WriteString(p.Phase)
	}
	c := p.Counts
	if !closed {
		fmt.Fprintf(&b, "  asked %d", p.AskedAt)
	}
	fmt.Fprintf(&b, "  sent %d  ok %d", c.Sent, c.Completed)
	if c.Failed > 0 {
		fmt.Fprintf(&b, "  failed %d", c.Failed)
	}
	if c.LateDropped > 0 {
		fmt.Fprintf(&b, "  late %d", c.LateDropped)
	}
	if p.Latency.Count() > 0 {
		fmt.Fprintf(&b, "  p50 %s  p99 %s", short(p.Latency.Quantile(0.5)), short(p.Latency.Quantile(0.99)))
	}
	fmt.Fprintf(&b, "  workers %d  %s", p.Members, p.Elapsed().Round(time.Second))
	if left := p.Left(); left > 0 {
		fmt.Fprintf(&b, ", %s left", left.Round(time.Second))
	}
	switch {
	case !p.EndedAt.IsZero() && !p.Settled:
		b.WriteString("  waiting for the last answers")
	case p.Members == 0 && p.Phase == "running":
		b.WriteString("  NO WORKERS: nothing is sent until one joins")
	}
	return b.String()
}

// short formats a time in ns with three digits.
func short(ns int64) string {
	d, unit := time.Duration(ns), time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit).String()
}
