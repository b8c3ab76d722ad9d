package chaos

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/loadctl/loadctl/internal/proof/redistest"
)

// A wallClock is the clock of one redis-server, and can be set.
type wallClock struct{ offset []byte }

// newWallClock starts a redis-server with a clock of its own.
func newWallClock(t *testing.T, args ...string) (*redistest.Server, *wallClock) {
	t.Helper()
	dir := t.TempDir()
	library, page := filepath.Join(dir, "clock.so"), filepath.Join(dir, "offset")
	if out, err := exec.Command("gcc", "-Wall", "-O2", "-shared", "-fPIC", "-o", library, "testdata/clock.c").CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	if err := os.WriteFile(page, make([]byte, 8), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(page, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	c := &wallClock{}
	if c.offset, err = unix.Mmap(int(file.Fd()), 0, 8, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(c.offset) })
	t.Setenv("LOADCTL_CHAOS_CLOCK", page)
	t.Setenv("LD_PRELOAD", library)
	server := redistest.Start(t, args...)
	os.Unsetenv("LD_PRELOAD") // only the server needs it
	return server, c
}

// step sets the clock ahead of the machine's by d.
func (c *wallClock) step(d time.Duration) { binary.NativeEndian.PutUint64(c.offset, uint64(d)) }

// TestWallClock: the server's clock follows its setting, and no other clock changes.
func TestWallClock(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it: it needs gcc")
	}
	server, clock := newWallClock(t)
	for _, d := range []time.Duration{0, -5 * time.Second, -300 * time.Millisecond, 5 * time.Second, 300 * time.Millisecond} {
		clock.step(d)
		before := time.Now()
		got, err := server.Client().Eval(t.Context(), "return redis.call('TIME')[1] * 1000000 + redis.call('TIME')[2]", nil).Int64()
		if err != nil {
			t.Fatal(err)
		}
		at := time.UnixMicro(got).Add(-d)
		if at.Before(before.Truncate(time.Microsecond)) || at.After(time.Now()) {
			t.Errorf("set %v apart, it is %v", d, at.Sub(before)+d)
		}
	}
}

// called is how long it takes until each worker has made another call and has its answer: twice the time between its
// calls, 0.2·H.
const called = 200 * time.Millisecond

// clockScenarios: somebody sets the clock of the machine that Redis runs on.
func clockScenarios() []scenario {
	var all []scenario
	for _, d := range []time.Duration{-5 * time.Second, -300 * time.Millisecond, 5 * time.Second, 300 * time.Millisecond} {
		all = append(all, scenario{
			name: "the clock of Redis is set by " + d.String(), lasts: 11 * time.Second,
			place: func(s *stage) {
				s.redis, s.clock = newWallClock(s.t)
				s.url, s.adrift = s.redis.URL(), true
			},
			play: func(s *stage) {
				s.breaks()
				s.clock.step(d)
				if d > 0 {
					s.allow(float64(s.qps)*min(d, called).Seconds(), "because each worker learns of it with its next call")
				}
			},
		})
	}
	return all
}
