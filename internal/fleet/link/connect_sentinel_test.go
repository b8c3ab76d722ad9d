package link

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
)

// TestConnectToSentinel: the client reaches the master that the Sentinels name, whichever of them answers, with its
// own user and database.
func TestConnectToSentinel(t *testing.T) {
	t.Parallel()
	w := redistest.StartWatched(t, redistest.WatchedOptions{})
	for _, s := range append(w.Sentinels, w.Servers...) {
		password := "s@cret"
		if s == w.Servers[0] {
			password = "p@ss"
		}
		s.SetUser(t, "default", "resetpass", ">"+password)
	}
	addrs, closed := w.Addrs(), fmt.Sprintf("127.0.0.1:%d", redistest.FreePort(t))
	const rest = "?master_name=" + redistest.MasterName + "&sentinel_password=s%40cret"
	for _, address := range []string{
		addrs[0] + rest, addrs[0] + "/3" + rest + "&addr=" + addrs[1] + "&addr=" + addrs[2], closed + rest + "&addr=" + addrs[2], addrs[1] + rest + "&addr=" + closed,
	} {
		client := connected(t, "redis://:p%40ss@"+address)
		if err := client.Set(t.Context(), "key", address, 0).Err(); err != nil {
			t.Fatalf("%s: %v", address, err)
		}
		if at := client.(*Watched).Master(); at != w.Servers[0].Addr() {
			t.Errorf("%s: the master is at %s", address, at)
		}
		if db := client.(*Watched).Options().DB; db != 0 && !strings.Contains(address, "/3") {
			t.Errorf("%s: database %d", address, db)
		}
	}
}

// TestFollowSentinel: the client moves to the new master, for each kind of failover. It does so even if the Sentinel that
// the library would listen to is gone. In acceptance that has to be soon.
func TestFollowSentinel(t *testing.T) {
	t.Parallel()
	w := redistest.StartWatched(t, redistest.WatchedOptions{Replicas: 2})
	client := connected(t, w.URL())
	first := w.Servers[0]
	redistest.GoesOver(t, client, first)
	second := w.Replace(t, first, w.Sentinels[0])
	redistest.GoesOver(t, client, second) // the old master accepts writes for some seconds more
	if at := client.(*Watched).Master(); at != second.Addr() {
		t.Errorf("the master is at %s, not at %s", at, second.Addr())
	}
	await.True(t, "the first master to become a replica", func() bool {
		return strings.Contains(first.Client().Info(t.Context(), "replication").Val(), "master_link_status:up")
	})
	w.Sentinels[0].Kill()
	second.Kill()
	redistest.GoesOver(t, client, w.Replace(t, second, w.Sentinels[1]))
}

// TestClientsMoveTogether: two masters at once would grant twice the rate. So clients stop writing to the old master when
// the Sentinels name the new one, though the old one would take what they write: here no Sentinel can make it a replica or
// end its connections. In acceptance they all move within the time in which the new schedule begins. Clients also hear the
// Sentinel that leads the failover, although it announces it last.
func TestClientsMoveTogether(t *testing.T) {
	t.Parallel()
	w := redistest.StartWatched(t, redistest.WatchedOptions{Replicas: 2})
	_, old, _ := net.SplitHostPort(w.Servers[0].Addr())
	w.Servers[0].SetUser(t, "default", "-slaveof", "-replicaof", "-client|kill")
	var mu sync.Mutex
	var first, last time.Time // first write to the new master, last write to the old one
	var all sync.WaitGroup
	for range 12 {
		client := connected(t, w.URL())
		all.Go(func() {
			for moved := false; !moved && t.Context().Err() == nil; time.Sleep(10 * time.Millisecond) {
				began := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), redistest.CallPatience())
				var info *redis.StringCmd
				_, err := client.TxPipelined(ctx, func(p redis.Pipeliner) error {
					p.Incr(ctx, "key")
					info = p.Info(ctx, "server")
					return nil
				})
				cancel()
				mu.Lock()
				switch {
				case err != nil:
				case strings.Contains(info.Val(), "tcp_port:"+old+"\r"):
					last = later(last, began)
				default:
					if moved = true; first.IsZero() {
						first = time.Now()
					}
				}
				mu.Unlock()
			}
		})
	}
	w.Replace(t, w.Servers[0], w.Sentinels[0])
	await.Done(t, "all clients to move to the new master", all.Wait)
	if role := w.Servers[0].Client().Info(t.Context(), "replication").Val(); !strings.Contains(role, "role:master") {
		t.Errorf("the old master is none any more, so this proves nothing: %s", role)
	}
	if both := last.Sub(first); await.Acceptance() && both > 500*time.Millisecond {
		t.Errorf("for %v some wrote to the old master and others to the new one", both)
	}
}

// later is the later one of two instants.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// TestSentinelErrors: each error is one line that says what is wrong, and shows no password.
func TestSentinelErrors(t *testing.T) {
	t.Parallel()
	w := redistest.StartWatched(t, redistest.WatchedOptions{})
	w.Sentinels[0].SetUser(t, "default", "resetpass", ">right")
	w.Sentinels[0].SetUser(t, "poor", "on", ">right", "+@connection")
	open := redistest.Start(t)
	sentinel, closed := w.Addrs()[0], fmt.Sprintf("127.0.0.1:%d", redistest.FreePort(t))
	const named, right = "?master_name=" + redistest.MasterName, "&sentinel_password=right"
	b := &bed{T: t}
	for address, says := range map[string]string{
		sentinel + "?master_name=other" + right:                             `watches no master named "other"; give the right master_name`,
		sentinel + named:                                                    "NOAUTH Authentication required; give Sentinel's own user and password",
		sentinel + named + right + "&sentinel_username=poor":                "allow that user +sentinel|get-master-addr-by-name",
		sentinel + named + "&sentinel_password=hunter2":                     "WRONGPASS",
		sentinel + named + "&sentinel_username=hunter2&sentinel_password=h": "WRONGPASS",
		closed + named: "ask Sentinel at " + closed + ": dial tcp " + closed + ": connect: connection refused",
		closed + "?master_name=other" + right + "&addr=" + sentinel: "watches no master named",
		open.Addr() + named: "that server is no Sentinel",
		":hunter2@" + sentinel + "?master_name=" + right:                "master_name is empty; write redis://",
		":hunter2@" + sentinel + named + "&addr=hunter3":                "an addr is not of the form host:port; write redis://",
		":hunter2@" + sentinel + named + "&addr=u:hunter3%2540b:2":      "an addr is not of the form host:port",
		":hunter2@" + sentinel + named + "&addr=:hunter3%40b:2":         "not of the form redis://",
		":hunter2@" + sentinel + named + "&sentinel_password=hunter3@b": "not of the form redis://",
		":hunter2@" + sentinel + named + "&password=hunter3":            "unexpected option; write redis://",
		":hunter2@" + sentinel + "/hunter3" + named:                     "invalid database number; write redis://",
	} {
		_, err := answered(t, "redis://"+address)
		b.wants(err, nil, says)
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %q", address, err)
		}
	}
	_, err := answered(t, "redis://:right@"+sentinel)
	b.wants(err, nil, "the server is a Sentinel; name the master that it watches: redis://host:26379?master_name=NAME")
	_, err = Connect(t.Context(), "unix:///tmp/socket"+named)
	b.wants(err, nil, "Sentinel needs host and port")
}

// TestSentinelHangs: a client connects although one of three Sentinels hangs.
func TestSentinelHangs(t *testing.T) {
	t.Parallel()
	w := redistest.StartWatched(t, redistest.WatchedOptions{})
	w.Sentinels[1].Pause()
	defer w.Sentinels[1].Resume()
	client := connected(t, w.URL())
	if err := client.Ping(t.Context()).Err(); err != nil {
		t.Error(err)
	}
}

// TestHungSentinelDelaysNothing: Sentinels that hang delay nothing while most of them answer, and those that answer are
// believed when the others have had their time. Time is virtual.
func TestHungSentinelDelaysNothing(t *testing.T) {
	for hung, want := range map[int]time.Duration{0: 0, 1: 0, 2: askPatience} {
		synctest.Test(t, func(t *testing.T) {
			w := &watch{name: "m", open: map[net.Conn]struct{}{}}
			for i := range 3 {
				client := redis.NewSentinelClient(&redis.Options{
					Dialer: func(context.Context, string, string) (net.Conn, error) {
						if i < hung {
							return hanging(t), nil
						}
						return naming(t), nil
					},
					Addr: "127.0.0.1:1", Protocol: 2, DisableIdentity: true, MaxRetries: -1, ContextTimeoutEnabled: true,
				})
				defer client.Close()
				w.sentinels = append(w.sentinels, Sentinel{SentinelClient: client})
			}
			began := time.Now()
			at, err := w.locate(t.Context())
			if took := time.Since(began); at != "here:1" || err != nil || took != want {
				t.Errorf("%d of 3 hang: %s, %v after %v, want %v", hung, at, err, took, want)
			}
		})
	}
}

// command reads one command of a client.
func command(r *bufio.Reader) (args []string, err error) {
	number := func() int {
		line, e := r.ReadString('\n')
		if e != nil || len(line) < 4 {
			err = io.EOF
			return 0
		}
		n, _ := strconv.Atoi(line[1 : len(line)-2])
		return n
	}
	for range number() {
		b := make([]byte, number()+2)
		if _, e := io.ReadFull(r, b); e != nil {
			return nil, e
		}
		args = append(args, string(b[:len(b)-2]))
	}
	return args, err
}

// naming returns a connection to a Sentinel that says where the master is, and nothing else.
func naming(t *testing.T) net.Conn {
	near, far := net.Pipe()
	go func() {
		for r := bufio.NewReader(far); ; {
			args, err := command(r)
			switch {
			case err != nil || len(args) == 0:
				return
			case args[0] == "sentinel":
				_, _ = far.Write([]byte("*2\r\n$4\r\nhere\r\n$1\r\n1\r\n"))
			default:
				_, _ = far.Write([]byte("-ERR unknown command\r\n"))
			}
		}
	}()
	t.Cleanup(func() { near.Close() })
	return near
}

// TestWatchForgetsClosed: the watch forgets connections that the client has closed.
func TestWatchForgetsClosed(t *testing.T) {
	t.Parallel()
	w := redistest.StartWatched(t, redistest.WatchedOptions{})
	watch := connected(t, w.URL()).(*Watched).watch
	var last net.Conn
	for range 10 {
		c, err := watch.dial(t.Context(), "tcp", "")
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
		last = c
	}
	watch.mu.Lock()
	defer watch.mu.Unlock()
	if _, kept := watch.open[last]; len(watch.open) > 3 || !kept {
		t.Errorf("%d connections", len(watch.open))
	}
}

// TestSentinelURL: the TLS, database and time limits of a URL apply to the master. This test connects to no server.
func TestSentinelURL(t *testing.T) {
	u, err := parseURL("rediss://user:hunter2@a/3?master_name=m&addr=b:7001&addr=c:7002&addr=b:7001&sentinel_password=h%40&read_timeout=2s")
	if err != nil {
		t.Fatal(err)
	}
	client, err := open(u, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	w, ok := client.(*Watched)
	if !ok {
		t.Fatalf("%T", client)
	}
	var addrs []string
	for _, s := range w.Sentinels {
		addrs = append(addrs, s.Addr)
	}
	if fmt.Sprint(addrs) != "[a:26379 b:7001 c:7002]" || w.Name != "m" {
		t.Errorf("%s at %v", w.Name, addrs)
	}
	o := w.Options()
	if o.Username != "user" || o.Password != "hunter2" || o.DB != 3 || o.TLSConfig == nil || o.ReadTimeout != 2*time.Second || o.MaxRetries != 0 || !o.ContextTimeoutEnabled {
		t.Errorf("%+v", o)
	}
}
