package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
)

// execute runs a command that does what do says, in this process.
func execute(do func(c *cobra.Command, args []string) error, args ...string) (stdout, stderr string, code int) {
	root := &cobra.Command{Use: "load", Args: Args(cobra.NoArgs), RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
	c := &cobra.Command{Use: "do RUN --time TIME", Args: Args(cobra.MaximumNArgs(1)), RunE: do}
	var d Duration
	c.Flags().Var(&d, "time", "")
	c.Flags().Int("number", 0, "")
	c.Flags().Bool("really", false, "")
	root.AddCommand(c, &cobra.Command{Use: "set-rate RUN RATE", Args: Args(cobra.ExactArgs(2)), RunE: do}, &cobra.Command{Use: "ls", Args: Args(cobra.NoArgs), RunE: do})
	var out, errs bytes.Buffer
	code = Main(root, args, &out, &errs)
	return out.String(), errs.String(), code
}

func TestExitCodes(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		name string
		err  error
		code int
		says string
	}{
		{"nothing", nil, CodeGood, ""},
		{"another error", broken, CodeOther, "error: broken\n"},
		{"configuration", Config(broken), CodeConfig, "error: broken\n"},
		{"configuration, wrapped", fmt.Errorf("run x: %w", Config(broken)), CodeConfig, "error: run x: broken\n"},
		{"no configuration", Config(nil), CodeGood, ""},
		{"a signal", ErrSignal, CodeSignal, ""},
		{"a signal that left something undone", fmt.Errorf("stop x: %w", ErrSignal), CodeSignal, "error: stop x: ended by a signal\n"},
		{"canceled by no signal", context.Canceled, CodeOther, "error: context canceled\n"},
		{"several lines", errors.New("a\nb\r\tc\x1b[31m"), CodeOther, "error: a; b  c [31m\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			stdout, stderr, code := execute(func(*cobra.Command, []string) error { return c.err }, "do")
			if code != c.code || stderr != c.says || stdout != "" {
				t.Errorf("exit code %d, stderr %q, stdout %q", code, stderr, stdout)
			}
		})
	}
}

func TestPanic(t *testing.T) {
	_, stderr, code := execute(func(*cobra.Command, []string) error { panic("ouch") }, "do")
	if code != CodePanic || stderr != "error: this is a bug in load, please report it: ouch\n" {
		t.Errorf("exit code %d, %q", code, stderr)
	}
}

// TestSignal: the first one ends the command's context, and whatever it interrupts ends as ended by a signal.
func TestSignal(t *testing.T) {
	_, stderr, code := execute(func(c *cobra.Command, _ []string) error {
		if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
			return err
		}
		<-c.Context().Done()
		if cause := context.Cause(c.Context()); !errors.Is(cause, ErrSignal) {
			t.Errorf("cause %v", cause)
		}
		return Config(fmt.Errorf("read: %w", c.Context().Err()))
	}, "do")
	if code != CodeSignal || stderr != "" {
		t.Errorf("exit code %d, %q", code, stderr)
	}
}

func TestBadCommandLines(t *testing.T) {
	long := strings.Repeat("ä", 1<<19)
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"nonsense"}, `unknown command "nonsense" for "load"; see load --help`},
		{[]string{long}, "see load --help"},
		{[]string{"help", "nonsense"}, `help: there is no command "nonsense"; see load --help`},
		{[]string{"help", "do", "nonsense"}, "there is no command"},
		{[]string{"do", "a", "b"}, `error: do: give the name of one run, "b" is one too many; usage: load do RUN --time TIME [flags]`},
		{[]string{"do", "a", long}, "is one too many; usage: load do RUN"},
		{[]string{"set-rate"}, "error: set-rate: give the name of one run and a rate, such as 500; usage: load set-rate RUN RATE"},
		{[]string{"set-rate", "x"}, "error: set-rate: give the name of one run and a rate"},
		{[]string{"set-rate", "x", "-1"}, "-1: nothing here is negative; a rate, a time or a number is at least 0; see load set-rate --help"},
		{[]string{"ls", "x"}, `error: ls: takes no arguments, "x" is one too many; usage: load ls`},
		{[]string{"setrate", "x", "5"}, `unknown command "setrate" for "load"; did you mean set-rate? Or see load --help`},
		{[]string{"set"}, "did you mean set-rate?"},
		{[]string{"LS"}, "did you mean ls?"},
		{[]string{"xy"}, `unknown command "xy" for "load"; see load --help`},
		{[]string{"help", "setrate"}, `help: there is no command "setrate"; did you mean set-rate? Or see load --help`},
		{[]string{""}, `unknown command "" for "load"; see load --help`},
		{[]string{"do", "--nonsense"}, "unknown flag: --nonsense; see load do --help"},
		{[]string{"do", "--" + long}, "see load do --help"},
		{[]string{"do", "--times", "5s"}, "unknown flag: --times; did you mean --time? Or see load do --help"},
		{[]string{"do", "--num=5"}, "unknown flag: --num; did you mean --number? Or see load do --help"},
		{[]string{"do", "-number", "5"}, "did you mean --number? Or see load do --help"},
		{[]string{"do", "-x"}, "unknown shorthand flag: 'x' in -x; see load do --help"},
		{[]string{"do", "--time"}, "flag needs an argument: --time"},
		{[]string{"do", "--time", "soon"}, `--time: "soon" is not a duration; write 30s, 5m, 1h30m or 2d; see load do --help`},
		{[]string{"do", "--time", long}, "is not a duration"},
		{[]string{"do", "--number", "many"}, `--number "many": not a value of type int; see load do --help`},
		{[]string{"do", "--number", "1" + long}, "not a value of type int"},
		{[]string{"do", "--really=perhaps"}, `--really "perhaps": not a value of type bool; see load do --help`},
		{[]string{"--number", "1"}, "unknown flag"},
	} {
		stdout, stderr, code := execute(func(*cobra.Command, []string) error { return nil }, c.args...)
		if code != CodeConfig || !strings.HasPrefix(stderr, "error: ") || !strings.Contains(stderr, c.says) || stdout != "" {
			t.Errorf("%.60q: exit code %d, %.300q, %.100q", c.args, code, stderr, stdout)
		}
		if strings.Count(stderr, "\n") != 1 || len(stderr) > keptBegin+keptEnd+100 {
			t.Errorf("%.60q: %d lines, %d bytes", c.args, strings.Count(stderr, "\n"), len(stderr))
		}
	}
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{{}, {"--help"}, {"help"}, {"help", "do"}, {"do", "--help"}} {
		stdout, stderr, code := execute(func(*cobra.Command, []string) error { return nil }, args...)
		if code != CodeGood || !strings.Contains(stdout, "Usage:") || stderr != "" {
			t.Errorf("%v: exit code %d, %q, %q", args, code, stdout, stderr)
		}
	}
}
