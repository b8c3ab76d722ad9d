package loadworker

import (
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/fleet/embedded"
	"github.com/loadctl/loadctl/internal/fleet/link"
)

// TestHasRun: a worker waits for a run that another process on this machine has announced, until it is there, is not
// created after all, or the process ends. It does not wait for a run that is not announced.
func TestHasRun(t *testing.T) {
	for name, c := range map[string]struct {
		announced []string
		then      func(t *testing.T, s *embedded.Server)
		want      bool
	}{
		"created":     {[]string{"there"}, func(t *testing.T, s *embedded.Server) { create(t, s); s.Created("there") }, true},
		"not created": {[]string{"there"}, func(_ *testing.T, s *embedded.Server) { s.Created("there") }, false},
		"ended":       {[]string{"there"}, func(_ *testing.T, s *embedded.Server) { s.Close() }, false},
		"another":     {[]string{"other"}, nil, false},
		"none":        {nil, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := embedded.Start("127.0.0.1:0", c.announced...)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.Close() })
			waits, found := make(chan struct{}), make(chan bool, 1)
			f := &runFlags{name: "there"}
			go func() { found <- f.hasRun(t.Context(), s.URL(), slog.New(slog.NewTextHandler(&once{waits}, nil))) }()
			if c.then != nil {
				select {
				case <-waits:
					c.then(t, s)
				case got := <-found:
					t.Fatalf("it does not wait, and returns %v", got)
				}
			}
			if got := <-found; got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

// once closes a channel at the first line that says that a worker waits.
type once struct{ waits chan struct{} }

func (o *once) Write(p []byte) (int, error) {
	if strings.Contains(string(p), "waiting for another process") {
		close(o.waits)
	}
	return io.Discard.Write(p)
}

func create(t *testing.T, s *embedded.Server) {
	t.Helper()
	client, err := link.Connect(t.Context(), s.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	waiting(t, client)
}
