package child

import (
	"errors"
	"os/exec"
	"testing"

	"github.com/loadctl/loadctl/internal/proof/await"
)

func TestProcess(t *testing.T) {
	for _, c := range []struct {
		name, line string
		code       int
		out, err   string
	}{
		{"both streams", "echo out; echo err >&2; exit 3", 3, "out\n", "err\n"},
		{"a child of its own that keeps the pipes open", "sleep 60 & echo $!", 0, "", ""},
		{"killed", "kill -9 $$", -1, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := Start(exec.Command("sh", "-c", c.line), nil)
			if err != nil {
				t.Fatal(err)
			}
			await.Closed(t, "the end of the process", p.Exited)
			code := p.Cmd.ProcessState.ExitCode()
			if code != c.code || c.out != "" && p.Stdout.String() != c.out || p.Stderr.String() != c.err {
				t.Errorf("exit code %d, %q, %q", code, p.Stdout.String(), p.Stderr.String())
			}
			if pid := p.Stdout.String(); c.code == 0 {
				_ = exec.Command("sh", "-c", "kill "+pid).Run()
			}
			p.Kill() // of one that has ended it is nothing
		})
	}
}

// TestNotStarted: a program that is missing, or does not get ready, is an error, and leaves no process.
func TestNotStarted(t *testing.T) {
	if p, err := Start(exec.Command("/there/is/none"), nil); err == nil || p != nil {
		t.Errorf("%v, %v", p, err)
	}
	unready := errors.New("unready")
	if p, err := Start(exec.Command("true"), func() error { return unready }); !errors.Is(err, unready) || p != nil {
		t.Errorf("%v, %v", p, err)
	}
}
