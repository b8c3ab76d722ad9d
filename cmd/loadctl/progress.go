package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/loadctl/loadctl/internal/cli"
	"github.com/loadctl/loadctl/internal/run"
)

// progress shows how a run goes: one line that is written anew on a terminal, plain lines elsewhere.
type progress struct {
	every    cli.Duration
	line     *line
	shown    time.Time // when the last line was written
	troubled bool      // the last line says that Redis cannot be asked
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

// follow shows the run's progress until it is over and everything has been published (nil), or ctx has ended (its cause). The run
// does not need us: where Redis does not answer, the question is asked again.
func (p *progress) follow(ctx context.Context, w io.Writer, r *run.Run) error {
	p.line = newLine(w)
	defer p.line.end()
	var f *run.Follower
	look := func() (now run.Progress, err error) {
		if f == nil {
			f, err = r.Follow(ctx)
		}
		if err == nil {
			now, err = f.Progress(ctx)
		}
		return now, err
	}
	var heard time.Time    // when there was an answer
	var left time.Duration // of the run at that time; 0 = not known
	for {
		now, err := p.ask(ctx, r.Name, look)
		wait := time.Second
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, run.ErrNoRun) || errors.Is(err, run.ErrBroken) || errors.Is(err, run.ErrNewer):
			return err
		case err != nil && left > 0 && time.Since(heard) > left+silence:
			return fmt.Errorf("run %s: Redis has not answered since %s, and the planned end is past: %w; when it is back, loadctl report %s tells what became of it",
				r.Name, heard.UTC().Format(time.RFC3339), err, r.Name)
		case err != nil:
			p.trouble(fmt.Sprintf("%s: Redis cannot be asked (%v); trying again", r.Name, err))
		default:
			heard, left = time.Now(), now.Left()
			p.show(now)
			if now.Settled {
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

// silence is how long after the planned end Redis may say nothing before nobody waits for it any more.
const silence = 10 * time.Second

// prompt is how soon Redis answers where nothing is wrong.
const prompt = 500 * time.Millisecond

// ask waits for the answer as long as it takes, and says so where that is long. A server that hangs holds a call for seconds, which
// the end of ctx does not shorten, so the call is then left alone.
func (p *progress) ask(ctx context.Context, name string, look func() (run.Progress, error)) (now run.Progress, err error) {
	answered := make(chan struct{})
	var answer run.Progress
	var failure error
	go func() {
		answer, failure = look()
		close(answered)
	}()
	late := time.After(prompt)
	for {
		select {
		case <-answered:
			return answer, failure
		case <-late:
			p.trouble(name + ": Redis does not answer; waiting for it")
		case <-ctx.Done():
			return now, ctx.Err()
		}
	}
}

// trouble shows why there is no progress to show, once until there is.
func (p *progress) trouble(why string) {
	if p.every > 0 && !p.troubled {
		p.line.show(why)
	}
	p.troubled = true
}

// show shows the progress if it is time to, or if what was shown last is not true any more.
func (p *progress) show(now run.Progress) {
	const early = 500 * time.Millisecond // looking is not exact to the second
	due := time.Since(p.shown) >= time.Duration(p.every)-early
	if p.every > 0 && (due || p.troubled || now.Settled) {
		p.line.show(describe(now))
		p.shown = time.Now()
	}
	p.troubled = false
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
	switch {
	case !p.EndedAt.IsZero() && !p.Settled:
		b.WriteString("  waiting for the last answers")
	case p.Members == 0 && p.Phase == "running":
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
	w        io.Writer
	terminal *os.File // nil = it is none
	last     string
}

func newLine(w io.Writer) *line {
	l := &line{w: w}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" {
		l.terminal = f
	}
	return l
}

// width is how much fits on the terminal now; 0 = nothing is known of one.
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

// show writes the line: over the one before on a terminal; elsewhere only if it says something new.
func (l *line) show(text string) {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) { // errors may quote what a server said
			return ' '
		}
		return r
	}, text)
	if width := l.width(); width > 0 {
		if r := []rune(text); len(r) >= width {
			text = string(r[:width-1])
		}
		fmt.Fprintf(l.w, "\r\x1b[K%s", text)
	} else if text != l.last {
		fmt.Fprintln(l.w, text)
	}
	l.last = text
}

// end leaves the last line where it is.
func (l *line) end() {
	if l.width() > 0 && l.last != "" {
		fmt.Fprintln(l.w)
	}
}
