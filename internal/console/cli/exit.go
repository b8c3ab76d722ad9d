// Package cli has what the two commands share: exit codes, signals, arguments, the commands version and man,
// and the flags that name a Redis server and say how a report is written.
//
// The rules for messages, as in all of the project: an error is one line on stderr that begins with "error: " and says
// what, why, and what to do; what was asked for goes to stdout, everything else to stderr; no secret is ever printed.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/loadctl/loadctl/internal/console/lastly"
	"github.com/loadctl/loadctl/internal/fleet/link"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/internal/output/printable"
)

// The exit codes. They are those of k6 where k6 has one.
const (
	CodeGood  = 0
	CodeOther = 1

	CodeInvalid   = 98 // what proves nothing: a run with thresholds whose generator may have decided one, or whose report is not complete; a search, a comparison
	CodeThreshold = 99 // a threshold was not met

	CodeConfig = 104 // something in the command line, the environment or a file has to be changed
	CodeSignal = 105 // ended by Ctrl-C or SIGTERM
	CodePanic  = 109 // a bug
)

// ErrSignal is the cause of a context that a signal ended.
var ErrSignal = errors.New("ended by a signal")

// configError marks errors that the user mends by changing flags or arguments.
type configError struct{ error }

func (e configError) Unwrap() error { return e.error }

// Config marks an error as one of configuration, exit code 104. nil stays nil.
func Config(err error) error {
	if err == nil {
		return nil
	}
	return configError{err}
}

// Failed marks an error about measured values, exit code 99.
func Failed(err error) error { return verdictError{CodeThreshold, err.Error()} }

// Unproved marks an error that says that nothing was proved, exit code 98.
func Unproved(err error) error { return verdictError{CodeInvalid, err.Error()} }

// Code returns the exit code of an error.
func Code(err error) int {
	_, config := errors.AsType[configError](err)
	verdict, judged := errors.AsType[verdictError](err)
	switch {
	case err == nil:
		return CodeGood
	case errors.Is(err, ErrSignal):
		return CodeSignal
	case config, link.WrongURL(err), errors.Is(err, spec.ErrBroken), errors.Is(err, spec.ErrNewer), errors.Is(err, spec.ErrOlder):
		return CodeConfig
	case judged:
		return verdict.code
	default:
		return CodeOther
	}
}

// Main runs a command and returns the exit code. The first Ctrl-C or SIGTERM ends the command's context, with
// ErrSignal as its cause; the second ends the process at once.
//
// A command has a second to end after the first signal, unless it is Patient.
//
// Whatever a command writes passes a filter: no name, phase or error that somebody put into Redis steers a terminal.
func Main(root *cobra.Command, args []string, stdout, stderr io.Writer) (exit int) {
	stdout, stderr = printable.NewWriter(stdout), printable.NewWriter(stderr)
	redis.SetLogger(silent{})
	_ = os.Setenv("QUIC_GO_DISABLE_RECEIVE_BUFFER_WARNING", "true") // a worker of HTTP/3 says it itself, and doctor
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(newHelpCommand(root))
	root.SetUsageFunc(usage)
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		RegisterCompletions(root)
	}
	defer func() {
		if bug := recover(); bug != nil {
			printable.Fprintf(stderr, "error: this is a bug in %s, please report it: %v\n", root.Name(), bug)
			exit = CodePanic
		}
	}()
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	ctx, end := lastly.With(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	ended := make(chan struct{})
	defer close(ended)
	go heed(ended, signals, cancel, func() {
		fmt.Fprintf(stderr, "error: interrupted; %s cannot tell whether the command took effect\n", root.Name())
	}, end, patience(root, args))
	err := link.Advise(root.ExecuteContext(ctx))
	if errors.Is(err, context.Canceled) && errors.Is(context.Cause(ctx), ErrSignal) {
		err = ErrSignal // whatever the signal interrupted
	}
	if err != nil && err != ErrSignal { //nolint:errorlint // one that only has it among its causes says more
		fmt.Fprintln(stderr, "error:", oneLine(err))
	}
	return Code(err)
}

// hurry is how long a command may go on after the first signal. A command that still blocks waits for a server that
// hangs.
const hurry = time.Second

// patient marks commands in their annotations.
const patient = "patient"

// Patient marks a command that may take as long as it needs after the first signal, because it has something to
// finish.
func Patient(c *cobra.Command) *cobra.Command {
	c.Annotations = map[string]string{patient: ""}
	return c
}

// patience returns how long the command that args name may go on after the first signal; 0 = without a limit.
func patience(root *cobra.Command, args []string) time.Duration {
	if c, _, err := root.Find(args); err == nil {
		if _, ok := c.Annotations[patient]; ok {
			return 0
		}
	}
	return hurry
}

// heed ends the context at the first signal and the process at the second. Once the command has ended it waits for
// neither. A command that blocks because a server hangs is ended after patience. end is called before the process ends.
func heed(ended <-chan struct{}, signals <-chan os.Signal, cancel context.CancelCauseFunc, giveUp, end func(), patience time.Duration) {
	select {
	case <-signals:
		cancel(ErrSignal)
	case <-ended:
		return
	}
	var over <-chan time.Time
	if patience > 0 {
		over = time.After(patience)
	}
	select {
	case <-signals:
	case <-over:
		giveUp()
	case <-ended:
		return
	}
	end()
	os.Exit(CodeSignal)
}

// How much of a long message is kept: its beginning says what is wrong, its end what to do.
const (
	keptBegin = 1500
	keptEnd   = 300
)

// oneLine returns an error as one line of bounded length. It may quote arguments or data from Redis, which must not
// control a terminal.
func oneLine(err error) string {
	s := printable.Line(strings.ReplaceAll(err.Error(), "\n", "; ")) // several errors have a line each
	if len(s) > keptBegin+keptEnd {
		s = strings.ToValidUTF8(s[:keptBegin], "") + " … " + strings.ToValidUTF8(s[len(s)-keptEnd:], "")
	}
	return s
}

// flagError returns what is wrong with a flag.
func flagError(c *cobra.Command, err error) error {
	if e, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		err = fmt.Errorf("--%s: %w", e.GetFlag().Name, e.Unwrap())
		if _, ok := errors.AsType[*strconv.NumError](err); ok {
			err = fmt.Errorf("--%s %.40q: not a value of type %s", e.GetFlag().Name, e.GetValue(), e.GetFlag().Value.Type())
		}
	}
	meant := ""
	if e, ok := errors.AsType[*pflag.NotExistError](err); ok {
		meant = nearestFlag(c, cmp.Or(e.GetSpecifiedShortnames(), e.GetSpecifiedName())) // -qps is --qps with a dash missing
		if negative(e.GetSpecifiedShortnames()) {
			err = fmt.Errorf("-%.40s: nothing here is negative; a rate, a time or a number is at least 0", e.GetSpecifiedShortnames())
		}
	}
	return Config(fmt.Errorf("%w; %ssee %s --help", err, meant, c.CommandPath()))
}

// negative reports whether text taken for short flags is a negative number, so an argument.
func negative(shorthands string) bool { return strings.IndexAny(shorthands, "0123456789.") == 0 }

// newHelpCommand is cobra's, but an unknown topic is an error.
func newHelpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about any command",
		RunE: func(_ *cobra.Command, args []string) error {
			c, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return Config(fmt.Errorf("help: there is no command %.40q; %ssee %s --help", strings.Join(args, " "), nearest(root, args[0]), root.Name()))
			}
			c.InitDefaultHelpFlag()
			return c.Help()
		},
	}
}

// Close closes something that was only read from. An error changes nothing.
func Close(c io.Closer) { c.Close() }

// silent keeps go-redis from writing to stderr. All that matters is returned as an error.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}
