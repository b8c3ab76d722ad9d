// Package cli is what the two commands have in common: exit codes, signals, and the flags that name a Redis server.
//
// The rules for messages, as in all of the project: an error is one line on stderr that begins with "error: " and says
// what, why, and what to do; what was asked for goes to stdout, everything else to stderr; no secret is ever printed.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"
)

// The exit codes, the same as k6's where it has them.
const (
	CodeGood   = 0
	CodeOther  = 1
	CodeConfig = 104 // something in the command line, the environment or a file has to be changed
	CodeSignal = 105 // ended by Ctrl-C or SIGTERM
	CodePanic  = 109 // a bug
)

// ErrSignal is the cause of a context that a signal ended.
var ErrSignal = errors.New("ended by a signal")

// configError marks errors that the user mends by changing what was given.
type configError struct{ error }

func (e configError) Unwrap() error { return e.error }

// Config marks an error as one of configuration, exit code 104. nil stays nil.
func Config(err error) error {
	if err == nil {
		return nil
	}
	return configError{err}
}

// code is the exit code an error stands for.
func code(err error) int {
	_, config := errors.AsType[configError](err)
	switch {
	case err == nil:
		return CodeGood
	case errors.Is(err, ErrSignal):
		return CodeSignal
	case config:
		return CodeConfig
	default:
		return CodeOther
	}
}

// Main runs a command and returns the exit code. The first Ctrl-C or SIGTERM ends the command's context, with
// ErrSignal as its cause; the second ends the process at once.
func Main(root *cobra.Command, args []string, stdout, stderr io.Writer) (exit int) {
	redis.SetLogger(silent{})
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return Config(fmt.Errorf("%w; see %s --help", err, c.CommandPath()))
	})
	defer func() {
		if bug := recover(); bug != nil {
			fmt.Fprintf(stderr, "error: this is a bug in %s, please report it: %v\n", root.Name(), bug)
			exit = CodePanic
		}
	}()
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	go watch(cancel)
	err := root.ExecuteContext(ctx)
	if err != nil && !errors.Is(err, ErrSignal) {
		fmt.Fprintln(stderr, "error:", strings.ReplaceAll(err.Error(), "\n", " "))
	}
	return code(err)
}

func watch(cancel context.CancelCauseFunc) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	<-signals
	cancel(ErrSignal)
	<-signals
	os.Exit(CodeSignal)
}

// silent keeps go-redis from writing to stderr: what matters comes back as an error.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// Args wraps a check of positional arguments, so that its errors are ones of configuration.
func Args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if err := check(c, args); err != nil {
			return Config(fmt.Errorf("%w; usage: %s", err, c.UseLine()))
		}
		return nil
	}
}
