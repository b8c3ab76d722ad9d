package loadworker

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/console/cli/clitest"
	"github.com/loadctl/loadctl/internal/proof/echotest"
	"github.com/loadctl/loadctl/targets"
)

// echo sends the body as a line, and takes a line for the answer.
type echo struct{}

func (echo) Do(ctx context.Context, r targets.Request) (a targets.Answer) {
	c, err := new(net.Dialer).DialContext(ctx, r.Network, r.Address)
	if err != nil {
		return targets.Answer{Err: err}
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	if _, a.Err = c.Write(append(slices.Clip(r.Body), '\n')); a.Err == nil {
		a.Body = make([]byte, len(r.Body)+1)
		_, a.Err = io.ReadFull(c, a.Body)
	}
	return a
}

func (echo) Close() error { return nil }

// echoes is the scheme of echo.
func echoes() targets.Scheme {
	return targets.Scheme{
		Name: "echo", Version: "3", Port: targets.NoPort, Bare: true,
		Check: func(s targets.Spec) error {
			if s.Settings["color"] == "red" {
				return errors.New("set: there is no red; take another color")
			}
			return nil
		},
		Open: func(targets.Spec, targets.Local) (targets.Sender, error) { return echo{}, nil },
		Reach: func(ctx context.Context, r targets.Request, _ targets.Spec, _ targets.Local) error {
			c, err := new(net.Dialer).DialContext(ctx, r.Network, r.Address)
			if err == nil {
				c.Close()
			}
			return err
		},
	}
}

// TestOwnSchemeCommands asserts that a program with a scheme of its own lists it, tries it, and asks it whether its server can be
// reached, and that loadctl and loadworker say in one line that they lack it.
func TestOwnSchemeCommands(t *testing.T) {
	at := echotest.Listen(t, "127.0.0.1:0", echotest.Lines)
	mute := echoes()
	mute.Reach = nil
	for _, c := range []struct {
		scheme targets.Scheme
		args   []string
		code   int
		says   string
	}{
		{echoes(), []string{"version"}, 0, "echo=3"},
		{echoes(), []string{"try", "echo://" + at, "-d", "hello", "--check", "body has hello"}, 0, "hello"},
		{echoes(), []string{"try", "echo://" + at, "-d", "hello", "--check", "body has bye"}, 99, "body has bye"},
		{echoes(), []string{"try", "echo://" + at, "--set", "color=red"}, 104, "take another color"},
		{echoes(), []string{"doctor", "echo://" + at}, 0, at + ", connected in"},
		{echoes(), []string{"doctor", "echo://127.0.0.1:1"}, 104, "connection refused"},
		{mute, []string{"doctor", "echo://" + at}, 0, "does not say whether its server can be reached"},
		{echoes(), []string{"run", "--url", "echo://" + at, "-d", "${ordinal}", "--qps", "200", "-n", "20", "--plain"}, 0, "20"},
		{echoes(), []string{"run", "--url", "echo://127.0.0.1:1", "--qps", "200", "-n", "20"}, 104, "reach the target"},
		{echoes(), []string{"run", "--url", "echo://" + at, "--qps", "1", "-n", "1", "--preconnect", "2"}, 104, "opens its connections itself"},
	} {
		stdout, stderr, code := clitest.Execute(newRootCommand(c.scheme), c.args...)
		if code != c.code || !strings.Contains(stdout+stderr, c.says) {
			t.Errorf("%q: exit code %d, want %d and %q\n%s%s", c.args, code, c.code, c.says, stdout, stderr)
		}
	}
	refused(t, []string{"run", "--url", "echo://" + at, "--qps", "1", "-n", "1"}, "no target for scheme echo")
	refused(t, []string{"run", "--url", "echo://" + at, "--scheme", "echo=3", "--qps", "1", "-n", "1", "--no-check"}, "the scheme echo=3, which this program does not have")
	refused(t, []string{"run", "--url", "program://a", "--qps", "1", "-n", "1", "--no-check"}, "the scheme program=1, which this program does not have")
}

// TestOwnSchemeInAFlow asserts that steps of a flow take values from answers of a scheme that is not ours, and use them.
func TestOwnSchemeInAFlow(t *testing.T) {
	url := "echo://" + echotest.Listen(t, "127.0.0.1:0", echotest.Lines)
	workload := file(t, `rate: 100 flows/s
flows:
  two:
    - first: {send: '`+url+`', body: 'id=${ordinal}x', take: {id: 'regex id=(\d+x)'}}
    - second: {send: '`+url+`', body: 'got ${id}', check: 'body matches /^got \d+x\n$/'}
`)
	stdout, stderr, code := clitest.Execute(newRootCommand(echoes()), "run", "--workload", workload, "-n", "20", "--plain", "-o", "json")
	if code != 0 || !strings.Contains(stdout, `"completed": 20`) || !strings.Contains(stdout, `"second"`) {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
}

// TestOwnSchemesAreChecked asserts that schemes that cannot be used end a program in one line.
func TestOwnSchemesAreChecked(t *testing.T) {
	for says, change := range map[string]func(*targets.Scheme){
		"loadctl has one of this name": func(k *targets.Scheme) { k.Name = "http" },
		"begins with a letter":         func(k *targets.Scheme) { k.Name = "Echo" },
		"its version is":               func(k *targets.Scheme) { k.Version = "" },
		"its port is":                  func(k *targets.Scheme) { k.Port = "http" },
		"has no Open":                  func(k *targets.Scheme) { k.Open = nil },
	} {
		k := echoes()
		change(&k)
		clitest.Refused(t, newRootCommand(k), []string{"version"}, says)
	}
	clitest.Refused(t, newRootCommand(echoes(), echoes()), []string{"version"}, "given twice")
}
