package client_test

import (
	"bufio"
	"net"
	"net/http"
	"testing"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/client"
)

// secret must not be shown.
const secret = "s3cr3t"

// open returns a target that is closed when the test ends.
func open(t testing.TB, s targets.Spec, l targets.Local) targets.Target {
	t.Helper()
	target, err := client.New(s, l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := target.Close(); err != nil {
			t.Error(err)
		}
	})
	return target
}

// do performs one request and checks status and class.
func do(t *testing.T, target targets.Target, status int, class string) targets.Outcome {
	t.Helper()
	got := target.Do(t.Context(), targets.Call{})
	if got.Status != status || got.Class != class {
		t.Errorf("got status %d class %q, want %d %q", got.Status, got.Class, status, class)
	}
	return got
}

// answer returns a server function that reads one request and writes text.
func answer(text string) func(net.Conn) {
	return func(c net.Conn) {
		if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
			c.Write([]byte(text))
		}
	}
}
