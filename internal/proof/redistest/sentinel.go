package redistest

import (
	"context"
	"crypto/rand"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/proof/await"
)

// MasterName is the name of the master for the Sentinels of StartWatched.
const MasterName = "mymaster"

// WatchedOptions describes what StartWatched starts.
type WatchedOptions struct {
	Host     string   // the address at which all find each other; "" = 127.0.0.1
	Replicas int      // of the master
	Server   []string // arguments of each redis-server, as in Start
	Sentinel []string // lines for the configuration of each Sentinel
}

// Watched is a master, its replicas and three Sentinels, of which two must agree that the master is gone.
type Watched struct {
	Servers   []*Server // the first one is the master at the start
	Sentinels []*Server
	host      string
}

// StartWatched starts all of these. It returns when each Sentinel knows the others and each replica has its copy. No
// Sentinel takes a server for dead, unless a line of o.Sentinel sets down-after-milliseconds. Replace makes a failover.
// All end with the test.
func StartWatched(t testing.TB, o WatchedOptions) *Watched {
	t.Helper()
	w := &Watched{host: o.Host}
	if w.host == "" {
		w.host = "127.0.0.1"
	}
	common := append([]string{"--repl-diskless-sync-delay", "0", "--replica-announce-ip", w.host}, o.Server...)
	w.Servers = []*Server{Start(t, common...)}
	_, port, _ := net.SplitHostPort(w.At(w.Servers[0]))
	for range o.Replicas {
		w.Servers = append(w.Servers, Start(t, append([]string{"--replicaof", w.host, port}, common...)...))
	}
	for _, s := range w.Servers[1:] {
		await.True(t, s.Addr()+" to have its copy of the master", func() bool { return strings.Contains(s.replication(t), "master_link_status:up") })
	}
	for range 3 {
		w.Sentinels = append(w.Sentinels, startSentinel(t, w.host, append([]string{
			"sentinel monitor " + MasterName + " " + w.host + " " + port + " 2",
			"sentinel down-after-milliseconds " + MasterName + " " + strconv.FormatInt(never.Milliseconds(), 10),
			"sentinel failover-timeout " + MasterName + " 5000",
		}, o.Sentinel...)))
	}
	for _, s := range w.Sentinels {
		await.True(t, "the Sentinel at "+s.Addr()+" to know the others and the replicas", func() bool {
			known, err := w.known(t.Context(), s)
			return err == nil && known["num-other-sentinels"] == "2" && known["num-slaves"] == strconv.Itoa(o.Replicas)
		})
	}
	return w
}

// startSentinel starts a Sentinel with these lines in its configuration, which it writes to.
func startSentinel(t testing.TB, host string, lines []string) *Server {
	t.Helper()
	s := &Server{tb: t, dir: t.TempDir()}
	s.own = func() []string {
		file := filepath.Join(s.dir, "sentinel.conf")
		if _, err := os.Stat(file); err != nil { // what it wrote in an earlier life stays
			bind := "bind 127.0.0.1"
			if host != "127.0.0.1" {
				bind += " " + host
			}
			own := []string{bind, "protected-mode no", "dir " + s.dir, "sentinel announce-ip " + host}
			if err := os.WriteFile(file, []byte(strings.Join(append(own, lines...), "\n")+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return []string{file, "--sentinel", "--port", strconv.Itoa(s.port)}
	}
	s.start(t)
	// A Sentinel that was not executed for 2 s does nothing for 30 s, because its clock may have jumped. Before Redis 7
	// this cannot be changed, and tests of a slow machine take longer.
	_ = s.client.Do(t.Context(), "SENTINEL", "DEBUG", "TILT-TRIGGER", never.Milliseconds())
	return s
}

// At returns host:port of a server as the others know it.
func (w *Watched) At(s *Server) string { return net.JoinHostPort(w.host, strconv.Itoa(s.port)) }

// Addrs returns host:port of each Sentinel.
func (w *Watched) Addrs() []string {
	var addrs []string
	for _, s := range w.Sentinels {
		addrs = append(addrs, w.At(s))
	}
	return addrs
}

// URL names the master and all Sentinels.
func (w *Watched) URL() string {
	addrs := w.Addrs()
	return "redis://" + addrs[0] + "?master_name=" + MasterName + "&addr=" + strings.Join(addrs[1:], "&addr=")
}

// Replace makes a Sentinel replace the master, which may be alive or dead, by a replica. It returns the new master when
// all Sentinels that are alive name it.
func (w *Watched) Replace(t testing.TB, master, by *Server) *Server {
	t.Helper()
	await.True(t, "the Sentinel at "+by.Addr()+" to replace the master", func() bool {
		known, err := w.known(t.Context(), by)
		if err != nil || net.JoinHostPort(known["ip"], known["port"]) != w.At(master) {
			return err == nil
		}
		if !strings.Contains(known["flags"], "failover_in_progress") {
			// It is refused while the Sentinel has no answer of a replica for some seconds. An attempt may fail for the same
			// reason.
			_ = by.client.Do(t.Context(), "SENTINEL", "FAILOVER", MasterName)
		}
		return false
	})
	return w.Master(t, master)
}

// Master waits until all Sentinels that are alive name the same master, another one than old, and returns it.
func (w *Watched) Master(t testing.TB, old *Server) (master *Server) {
	t.Helper()
	await.True(t, "the Sentinels to agree on a master", func() bool {
		named := map[string]bool{}
		for _, s := range w.Sentinels {
			if known, err := w.known(t.Context(), s); err == nil {
				named[net.JoinHostPort(known["ip"], known["port"])] = true
			}
		}
		for _, s := range w.Servers {
			if s != old && len(named) == 1 && named[w.At(s)] {
				master = s
			}
		}
		return master != nil
	})
	return master
}

// known returns what a Sentinel knows about the master.
func (w *Watched) known(ctx context.Context, s *Server) (map[string]string, error) {
	cmd := redis.NewMapStringStringCmd(ctx, "SENTINEL", "MASTER", MasterName)
	err := s.client.Process(ctx, cmd)
	return cmd.Val(), err
}

// replication returns that section of a server's INFO.
func (s *Server) replication(t testing.TB) string {
	return s.client.Info(t.Context(), "replication").Val()
}

// Soon is how long a client takes to move to the new master after all Sentinels name it. It asks at least once a
// second.
const Soon = 1500 * time.Millisecond

// CallPatience is how long a test lets one call take before it makes another one, while a client moves to a new master.
func CallPatience() time.Duration {
	if await.Acceptance() {
		return 250 * time.Millisecond
	}
	return 5 * time.Second
}

// GoesOver waits until a client is with this master: a call without a repetition succeeds there. In acceptance that
// has to be Soon.
func GoesOver(t *testing.T, client rdb.Client, master *Server) {
	t.Helper()
	key, began := rand.Text(), time.Now()
	await.True(t, "the client to go over to "+master.Addr(), func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), CallPatience())
		defer cancel()
		return client.Incr(ctx, key).Err() == nil && master.Client().Exists(t.Context(), key).Val() == 1
	})
	CheckSoon(t, "the client goes over to "+master.Addr(), began)
}

// CheckSoon checks, in acceptance only, that what began is over Soon.
func CheckSoon(t *testing.T, what string, began time.Time) {
	t.Helper()
	await.Soon(t, what, time.Since(began), Soon)
}
