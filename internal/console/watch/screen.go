package watch

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/loadctl/loadctl/internal/console/lastly"
	"github.com/loadctl/loadctl/internal/console/screen"
	"github.com/loadctl/loadctl/internal/fleet/orders"
	"github.com/loadctl/loadctl/internal/fleet/results"
	"github.com/loadctl/loadctl/internal/fleet/rights"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/output/printable"
)

// terminal returns the terminal for a whole screen; nil if there is none, or if something else is to be shown.
func (o Options) terminal() (in, out *os.File) {
	data, ok := printable.File(o.Data)
	if o.Plain || o.Every == 0 || !ok || !term.IsTerminal(int(data.Fd())) {
		return nil, nil
	}
	in, isFile := o.Keys.(*os.File)
	out, ok = printable.File(o.Out)
	if !isFile || !ok || !term.IsTerminal(int(in.Fd())) || !term.IsTerminal(int(out.Fd())) {
		return nil, nil
	}
	if name := os.Getenv("TERM"); name == "" || name == "dumb" || !foreground(in) {
		return nil, nil
	}
	return in, out
}

// onScreen shows a run on a whole terminal. taken gets the screen; it may be nil.
func onScreen(ctx context.Context, o Options, in, out *os.File, r *run.Run, taken func(*screen.Screen)) error {
	options := screen.Options{Run: r.Name, In: in, Out: out, Interrupt: interrupt, Quit: "plain lines"}
	if o.Leaves {
		options.Quit = "leave"
	}
	if !o.ReadOnly {
		options.Give = func(ctx context.Context, order screen.Order) (string, error) { return give(ctx, r, order) }
		options.Check = func(order screen.Order) error {
			to, err := orders.ParseRate(order.Rate, order.Over)
			if err != nil {
				return err
			}
			return to.Fits(r)
		}
	}
	return hold(ctx, options, results.NewLive(r).Look, taken)
}

// hold shows what look sees on a whole terminal, until the run is over, the person has left (ErrLeft), or ctx has ended.
// Then it gives the terminal back. A bug is a panic after that.
func hold(ctx context.Context, o screen.Options, look looker, taken func(*screen.Screen)) error {
	s := screen.Open(o)
	if taken != nil {
		taken(s)
	}
	giveBack := func() { _ = s.Close() }
	defer lastly.Do(ctx, giveBack)() // until Close is done: the second signal may come while it works
	defer onHangUp(giveBack)()
	defer func() {
		if bug := s.Close(); bug != nil {
			panic(bug)
		}
	}()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-s.Left():
			cancel(ErrLeft)
		case <-ctx.Done():
		}
	}()
	return follow(ctx, o.Run, look, s)
}

// give gives a command to a run, and says when it is in force.
func give(ctx context.Context, r *run.Run, o screen.Order) (string, error) {
	var done run.Change
	var err error
	switch o.Command {
	case "set-rate":
		var to orders.Rate
		if to, err = orders.ParseRate(o.Rate, o.Over); err == nil {
			err = orders.StayAt(ctx, r, to)
		}
		if err == nil {
			done, err = rights.Change(ctx, r, func() (run.Change, error) { return to.Give(ctx, r) })
		}
	case "pause":
		done, err = r.Pause(ctx)
	case "resume":
		done, err = rights.Change(ctx, r, func() (run.Change, error) { return r.Resume(ctx) })
	case "stop":
		done, err = r.Stop(ctx, nil)
	default:
		err = fmt.Errorf("unknown command %s", o.Command)
	}
	what := o.Command
	if o.Rate != "" {
		what += " " + o.Rate
	}
	switch {
	case err != nil:
		return "", err
	case !done.Changed:
		return what + ": nothing to change", nil
	case done.At.IsZero():
		return what + ": in force as soon as the run begins or is resumed", nil
	}
	return fmt.Sprintf("%s: in force from %s", what, done.At.Format(time.TimeOnly+".000")), nil
}

// interrupt is what Ctrl-C means elsewhere. While a screen has the terminal, the kernel does not send the signal.
func interrupt() { raise(os.Interrupt) }

func raise(s os.Signal) {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Signal(s) // a system without signals: the person has to press q
	}
}

// onHangUp gives the terminal back before a hang-up ends the process, as it does without a screen. A process that ignores
// hang-ups, under nohup, goes on to do so.
func onHangUp(giveBack func()) (undo func()) {
	if signal.Ignored(syscall.SIGHUP) {
		return func() {}
	}
	hung := make(chan os.Signal, 1)
	over := make(chan struct{})
	signal.Notify(hung, syscall.SIGHUP)
	go func() {
		select {
		case <-hung:
			giveBack()
			signal.Reset(syscall.SIGHUP)
			raise(syscall.SIGHUP)
		case <-over:
		}
	}()
	return func() {
		close(over)
		signal.Stop(hung)
	}
}
