package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/loadctl/loadctl/internal/cli"
	"github.com/loadctl/loadctl/internal/run"
)

// progress shows how a run goes: one line that is written anew on a terminal, plain lines elsewhere.
type progress struct {
	every cli.Duration
	shown time.Time // when the last line was written
}

func (p *progress) AddFlags(c *cobra.Command) {
	p.every = cli.Duration(time.Second)
	c.Flags().Var(&p.every, "progress", "how often to show the progress; 0 = not at all")
}

func (p *progress) check() error {
	if p.every != 0 && p.every < cli.Duration(time.Second) {
		return cli.Config(errors.New("--progress: at least 1s, or 0 for none"))
	}
	return nil
}

// follow shows the run's progress until it is over (nil) or ctx has ended (its cause). The run does not need us: where Redis does
// not answer, the question is asked again.
func (p *progress) follow(ctx context.Context, w io.Writer, r *run.Run) error {
	l := newLine(w)
	defer l.end()
	var f *run.Follower
	for {
		var now run.Progress
		wait := time.Second
		err := ctx.Err()
		if err == nil && f == nil {
			f, err = r.Follow(ctx)
		}
		if err == nil {
			now, err = f.Progress(ctx)
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, run.ErrNoRun) || errors.Is(err, run.ErrBroken) || errors.Is(err, run.ErrNewer):
			return err
		case err != nil:
			l.show(p.due(), fmt.Sprintf("%s: Redis cannot be asked (%v); trying again", r.Name, err))
		default:
			over := !now.EndedAt.IsZero()
			l.show(p.due() || over && p.every > 0, describe(now))
			if over {
				return nil
			}
			wait = now.Next
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

// due tells whether it is time for a line.
func (p *progress) due() bool {
	const early = 500 * time.Millisecond // looking is not exact to the second
	if p.every == 0 || time.Since(p.shown) < time.Duration(p.every)-early {
		return false
	}
	p.shown = time.Now()
	return true
}

// describe is one line about a run: time, rate, counts up to the last whole second, latency of the last second, workers.
func describe(p run.Progress) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: ", p.Run)
	switch {
	case p.Phase == "waiting" && p.MinWorkers == 0:
		fmt.Fprintf(&b, "waits for loadctl start, workers %d", p.Members)
		return b.String()
	case p.Phase == "waiting":
		fmt.Fprintf(&b, "waits for workers, %d of %d are here", p.Members, p.MinWorkers)
		return b.String()
	case p.Phase == "running":
		fmt.Fprintf(&b, "%s/s", formatRate(p.Rate))
	default:
		b.WriteString(p.Phase)
	}
	c := p.Counts
	fmt.Fprintf(&b, "  asked %d  sent %d  ok %d", p.AskedAt, c.Sent, c.Completed)
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
	if p.Members == 0 && p.Phase == "running" {
		b.WriteString("  NO WORKERS: nothing is sent until one joins")
	}
	return b.String()
}

// short is a time in ns with three digits.
func short(ns int64) string {
	d, unit := time.Duration(ns), time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit).String()
}

// line is where progress is shown.
type line struct {
	w     io.Writer
	width int // of the terminal; 0 = none
	last  string
}

func newLine(w io.Writer) *line {
	l := &line{w: w}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" {
		l.width, _, _ = term.GetSize(int(f.Fd()))
	}
	return l
}

// show writes the line: over the one before on a terminal; elsewhere only if it says something new.
func (l *line) show(due bool, text string) {
	switch {
	case !due:
	case l.width > 0:
		if r := []rune(text); len(r) >= l.width {
			text = string(r[:l.width-1])
		}
		fmt.Fprintf(l.w, "\r\x1b[K%s", text)
	case text != l.last:
		fmt.Fprintln(l.w, text)
	}
	l.last = text
}

// end leaves the last line where it is.
func (l *line) end() {
	if l.width > 0 && l.last != "" {
		fmt.Fprintln(l.w)
	}
}
