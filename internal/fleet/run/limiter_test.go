package run

import (
	"bufio"
	"context"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
)

// refusing returns a client of a server that answers everything with one error.
func refusing(t *testing.T, answer string) (client rdb.Client, calls *atomic.Int64) {
	t.Helper()
	calls = new(atomic.Int64)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for lines := bufio.NewScanner(conn); lines.Scan(); {
					if strings.HasPrefix(lines.Text(), "*") { // a command begins
						calls.Add(1)
						if _, err := conn.Write([]byte("-" + answer + "\r\n")); err != nil {
							return
						}
					}
				}
			}()
		}
	}()
	client = redis.NewClient(&redis.Options{Addr: listener.Addr().String(), MaxRetries: -1, Protocol: 2, DisableIdentity: true})
	t.Cleanup(func() { client.Close() })
	return client, calls
}

// lines is a log handler that keeps the lines it gets.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) Enabled(context.Context, slog.Level) bool { return true }
func (l *lines) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l *lines) WithGroup(string) slog.Handler            { return l }
func (l *lines) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := r.Level.String() + " " + r.Message
	r.Attrs(func(a slog.Attr) bool { text += " " + a.String(); return true })
	l.all = append(l.all, text)
	return nil
}

// nothing is a Sink that must get nothing.
type nothing struct{ t *testing.T }

func (n nothing) Take(v *lease.View)  { n.t.Errorf("it was given %+v", v) }
func (n nothing) Taken() (int, int64) { return 0, 0 }

// TestNoLease: if an answer of Redis holds no lease, the worker has no lease. One line says why and what to do,
// however often the worker calls.
func TestNoLease(t *testing.T) {
	for answer, mend := range map[string]string{
		"OOM command not allowed when used memory > 'maxmemory'.":             "maxmemory",
		"READONLY You can't write against a read only replica.":               "master",
		"LOADING Redis is loading the dataset in memory":                      "wait",
		"CLUSTERDOWN The cluster is down":                                     "cluster info",
		"MISCONF Redis is configured to save RDB snapshots":                   "disk",
		"NOPERM this user has no permissions to run the 'evalsha' command":    "doctor",
		"BUSY Redis is busy running a script. You can only call SCRIPT KILL.": "script kill",
		"TRYAGAIN Multiple keys request during rehashing of slot":             "wait",
	} {
		t.Run(answer[:4], func(t *testing.T) {
			t.Parallel()
			log := &lines{}
			client, calls := refusing(t, answer)
			r := &Run{Name: "r", UID: "u", Client: client, Keys: KeysOf("r")}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			l := lease.Renewer{Server: r.Leases(client), Sink: nothing{t}, Clock: pacer.NewClock(), Worker: "w", Incarnation: "i", Log: slog.New(log)}
			ended := make(chan error, 1)
			go func() { ended <- l.Run(ctx) }()
			before := calls.Load()
			await.True(t, "some calls", func() bool { return calls.Load() >= before+5 })
			cancel()
			if err := await.Receive(t, "the end of the worker", ended); err == nil {
				t.Error("no error")
			}
			log.mu.Lock()
			defer log.mu.Unlock()
			if len(log.all) != 1 || !strings.Contains(log.all[0], answer[:4]) || !strings.Contains(log.all[0], mend) || strings.Contains(log.all[0], "\n") {
				t.Errorf("logged %q", log.all)
			}
		})
	}
}
