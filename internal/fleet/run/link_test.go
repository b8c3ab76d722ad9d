package run

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/embedded"
	"github.com/loadctl/loadctl/internal/fleet/link"
	"github.com/loadctl/loadctl/internal/fleet/mux"
	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
)

// linked returns a link to a server, made as a worker makes it.
func linked(t *testing.T, address string) *link.Link {
	t.Helper()
	l, err := redistest.Answered(t, address, func() (*link.Link, error) {
		return link.New(t.Context(), redistest.Patient(address), "loadworker:x:one")
	})
	if err != nil {
		t.Fatalf("%s: %v", address, err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// work makes all kinds of calls of a worker at the same time, some of them large. Meanwhile the worker listens for
// messages.
func work(t *testing.T, l *link.Link, name string) (r *Run, wake <-chan struct{}) {
	t.Helper()
	r, _, err := Create(t.Context(), l.Client, name, constant(1000), Options{})
	if err != nil {
		t.Fatal(err)
	}
	wake = l.Wakeups(t.Context(), r.Keys.Control)
	woken(t, "the subscription", wake)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			member := lease.NewHolder(fmt.Sprint("w", i), NewID(), 1)
			for range 20 {
				_, err := r.State(t.Context())
				_, second := r.StartedAt(t.Context())
				reply, third := r.Leases(l.Client).Renew(t.Context(), member.Call())
				member.Receive(reply.Now, reply)
				large := l.Client.HSet(t.Context(), r.Keys.Series, fmt.Sprint("large/", i), strings.Repeat("x", 200_000)).Err()
				if err := errors.Join(err, second, third, large); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	return r, wake
}

func woken(t *testing.T, why string, wake <-chan struct{}) {
	t.Helper()
	await.Receive(t, why+" to wake the worker", wake)
}

// clients returns the names of a server's clients, apart from the test's own.
func clients(t *testing.T, s *redistest.Server) (names []string) {
	t.Helper()
	list, err := s.Client().Do(t.Context(), "CLIENT", "LIST", "TYPE", "normal").Text()
	if err == nil {
		var more string
		more, err = s.Client().Do(t.Context(), "CLIENT", "LIST", "TYPE", "pubsub").Text()
		list += more
	}
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(list) {
		_, name, _ := strings.Cut(line, " name=")
		name, _, _ = strings.Cut(name, " ")
		if own := strings.Contains(line, "cmd=client"); !own {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// oneLink is the list of clients of a server that has one worker.
const oneLink = "[loadworker:x:one]"

// TestLinkIsOneConnection: a worker has one connection to each server, with its name. It opens a second one only to
// read what the whole fleet has published.
func TestLinkIsOneConnection(t *testing.T) {
	t.Parallel()
	t.Run("standalone", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		l := linked(t, s.URL())
		r, _ := work(t, l, "x")
		if got := fmt.Sprint(clients(t, s)); got != oneLink {
			t.Errorf("%s, want %s", got, oneLink)
		}
		far, err := r.Aside(t.Context(), l)
		if err == nil {
			_, err = far.State(t.Context())
		}
		if got := fmt.Sprint(clients(t, s)); got != "[ loadworker:x:one]" || err != nil {
			t.Errorf("with one aside: %s, %v", got, err)
		}
	})
	t.Run("with a password", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		// CLIENT SETNAME needs a permission of its own.
		s.SetUser(t, "worker", "on", ">p", "~*", "&*", "+@all", "-client")
		l := linked(t, "redis://worker:p@"+s.Addr()+"/2")
		work(t, l, "x")
		if got := fmt.Sprint(clients(t, s)); got != oneLink {
			t.Errorf("%s, want %s", got, oneLink)
		}
	})
	t.Run("named in the URL", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		work(t, linked(t, s.URL()+"?client_name=mine&protocol=2"), "x")
		if got := fmt.Sprint(clients(t, s)); got != "[mine]" {
			t.Errorf("%s", got)
		}
	})
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		s, err := embedded.Start("127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		work(t, linked(t, s.URL()), "x")
		if n := s.Clients(); n != 1 {
			t.Errorf("%d connections, want 1", n)
		}
	})
}

// TestLinkToSeveralServers: a worker has one connection to each server that it needs.
func TestLinkToSeveralServers(t *testing.T) {
	t.Parallel()
	t.Run("cluster", func(t *testing.T) {
		t.Parallel()
		c := redistest.StartCluster(t, 3)
		l := linked(t, c.URL())
		r, _ := work(t, l, "x")
		owner := c.Owner(t, r.Keys.Budget)
		for _, s := range c.Masters {
			got := fmt.Sprint(clients(t, s))
			if got != oneLink && (s == owner || got != "[]") {
				t.Errorf("%s has %s, want at most %s", s.Addr(), got, oneLink)
			}
			if n := s.Client().PubSubNumSub(t.Context(), r.Keys.Control).Val()[r.Keys.Control]; (n == 1) != (s == owner) {
				t.Errorf("%s has %d subscriptions", s.Addr(), n)
			}
		}
	})
	t.Run("Sentinel", func(t *testing.T) {
		t.Parallel()
		w := redistest.StartWatched(t, redistest.WatchedOptions{})
		work(t, linked(t, w.URL()), "x")
		got := slices.DeleteFunc(clients(t, w.Servers[0]), func(name string) bool { return strings.HasPrefix(name, "sentinel-") })
		if fmt.Sprint(got) != oneLink {
			t.Errorf("%s, want %s", got, oneLink)
		}
		for _, s := range w.Sentinels {
			others := slices.DeleteFunc(clients(t, s), func(name string) bool { return strings.HasPrefix(name, "sentinel-") })
			if len(others) != 1 {
				t.Errorf("Sentinel at %s has %q, want one", s.Addr(), others)
			}
		}
	})
}

// TestWakeups: a command wakes workers at once. What is published with it arrives unchanged, and a worker need not
// read it.
func TestWakeups(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("x", constant(100), Options{})
		b.member(r, "w").start()
		l := linked(t, redistest.URL(b.client))
		wake := l.Wakeups(t.Context(), r.Keys.Control)
		woken(t, "the subscription", wake)
		b.must(r.SetRate(t.Context(), pacer.PerSecond(5), 0))
		woken(t, "a command", wake)
		for range 100 { // without a listener no message blocks
			b.must(r.SetRate(t.Context(), pacer.PerSecond(6), 0))
		}
		payloads := []string{"a\r\n\x00\xff$5", "", "b"}
		for _, payload := range payloads {
			if err := b.client.Publish(t.Context(), r.Keys.Control, payload).Err(); err != nil {
				t.Fatal(err)
			}
		}
		for _, payload := range payloads {
			for arrived := payload == ""; !arrived; { // the commands' own messages come first
				arrived = string(await.Receive(t, fmt.Sprintf("the message %q", payload), l.Messages())) == payload
			}
		}
		_ = l.Close()
		await.True(b, "the end of the subscription", func() bool {
			return b.client.PubSubNumSub(t.Context(), r.Keys.Control).Val()[r.Keys.Control] == 0
		})
	})
}

// TestLostLinkWakes: a worker that has lost its connection subscribes again, without a call of its own. That also wakes
// it, because it may have missed a message. In acceptance this has to be at once.
func TestLostLinkWakes(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, "--appendonly", "yes")
	l := linked(t, s.URL())
	r, wake := work(t, l, "x")
	for len(wake) > 0 {
		<-wake
	}
	lost := time.Now()
	if err := s.Client().ClientKillByFilter(t.Context(), "TYPE", "pubsub").Err(); err != nil {
		t.Fatal(err)
	}
	woken(t, "the new subscription", wake)
	b := &bed{T: t}
	b.soon("the new subscription", time.Since(lost), time.Second)
	receives(t, l, r, s.Client())

	s.Kill()
	for len(wake) > 0 {
		<-wake
	}
	for range 100 { // many refusals must not make a client slow
		if _, err := leased(t.Context(), r, l.Client, never); err == nil {
			t.Fatal("a server that is gone has answered")
		}
	}
	s.Restart()
	back := time.Now()
	if _, err := leased(t.Context(), r, l.Client, never); err != nil {
		t.Errorf("the server is back, and the next call failed: %v", err)
	}
	woken(t, "the server's return", wake)
	b.soon("the server's return", time.Since(back), 2*time.Second)
	receives(t, l, r, s.Client())
}

// receives publishes messages until one arrives. Messages before a subscription are lost.
func receives(t *testing.T, l *link.Link, r *Run, server rdb.Client) {
	t.Helper()
	await.True(t, "a message", func() bool {
		_ = server.Publish(t.Context(), r.Keys.Control, "law") // the subscription may not exist yet
		return len(l.Messages()) > 0
	})
}

// TestLinkFollowsSentinel: messages come from the new master after a failover, and the worker is woken.
func TestLinkFollowsSentinel(t *testing.T) {
	t.Parallel()
	w := redistest.StartWatched(t, redistest.WatchedOptions{Replicas: 1})
	l := linked(t, w.URL())
	r, wake := work(t, l, "x")
	for len(wake) > 0 {
		<-wake
	}
	w.Servers[0].Kill()
	second := w.Replace(t, w.Servers[0], w.Sentinels[0])
	woken(t, "the failover", wake)
	receives(t, l, r, second.Client())
	redistest.GoesOver(t, l.Client, second)
}

// TestLinkFollowsCluster: the same when a replica takes over the run after a crash of the master.
func TestLinkFollowsCluster(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3)
	c.Replicate(t)
	l := linked(t, c.URL())
	r, wake := work(t, l, "x")
	for len(wake) > 0 {
		<-wake
	}
	i := slices.Index(c.Masters, c.Owner(t, r.Keys.Budget))
	c.Masters[i].Kill()
	c.TakeOver(t, i)
	woken(t, "the failover", wake)
	receives(t, l, r, c.Replicas[i].Client())
}

// TestJoinsAreSpread: 3,000 workers that a server refuses call less and less often, and not at the same time. Once it
// has room, all join within some seconds.
func TestJoinsAreSpread(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const workers, room = 3000, 60 * time.Second
		began := time.Now()
		perTenth := make([]int64, 10*90)
		var last atomic.Int64
		var all sync.WaitGroup
		for range workers {
			all.Go(func() {
				_, err := link.RetryPatiently(t.Context(), 0, nil, func(context.Context) (int, error) {
					at := time.Since(began)
					atomic.AddInt64(&perTenth[at/(100*time.Millisecond)], 1)
					if at < room {
						return 0, fmt.Errorf("reach Redis: %w", mux.ErrRefused)
					}
					last.Store(max(last.Load(), int64(at)))
					return 1, nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		asked := int64(0)
		for i, n := range perTenth {
			if asked += n; i >= 50 && n > workers/10 {
				t.Errorf("%d attempts in the 0.1 s after %v", n, time.Duration(i)*100*time.Millisecond)
			}
		}
		if asked > 30*workers {
			t.Errorf("%d attempts of %d workers in a minute", asked, workers)
		}
		if late := time.Duration(last.Load()) - room; late > 5*time.Second {
			t.Errorf("the last one came %v after there was room", late)
		}
	})
}

// TestRefusedWorkerIsPatient: a worker tries again while a server refuses it, or loads its data, and does not call often.
// A refusal that cannot pass is an error at once. What the server says comes over a socket; the time is virtual.
func TestRefusedWorkerIsPatient(t *testing.T) {
	t.Parallel()
	for _, says := range []string{"-ERR max number of clients reached\r\n", "-LOADING Redis is loading the dataset in memory\r\n"} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		var knocks atomic.Int64
		go func() { // a server that refuses
			for {
				c, err := listener.Accept()
				if err != nil {
					return
				}
				knocks.Add(1)
				go refuse(c, says)
			}
		}()
		_, refusal := link.New(t.Context(), "redis://"+listener.Addr().String(), "x")
		listener.Close()
		if n := knocks.Load(); refusal == nil || n != 1 {
			t.Errorf("%q: %v, %d connections for one attempt", says, refusal, n)
		}
		word, _, _ := strings.Cut(strings.TrimPrefix(says, "-"), "\r")
		synctest.Test(t, func(t *testing.T) {
			var reported error
			calls := 0
			_, err = link.RetryPatiently(t.Context(), 3*time.Second, func(err error) { reported = err }, func(context.Context) (*link.Link, error) {
				calls++
				return nil, refusal
			})
			if err == nil || reported == nil || !strings.Contains(reported.Error(), word) || !strings.Contains(err.Error(), word) {
				t.Errorf("%q: %v, reported %v", says, err, reported)
			}
			if calls < 3 || calls > 12 {
				t.Errorf("%q: %d attempts in 3 s", says, calls)
			}
		})
		if _, err := link.RetryPatiently(t.Context(), 0, nil, func(ctx context.Context) (*link.Link, error) {
			return link.New(ctx, "redis://"+listener.Addr().String(), "x")
		}); err == nil || link.Temporary(err) {
			t.Errorf("no server: %v", err)
		}
	}
}

// refuse answers everything with the same words. It hangs up first in the cases where a server would.
func refuse(c net.Conn, says string) {
	defer c.Close()
	if strings.HasPrefix(says, "-ERR max") {
		_, _ = c.Write([]byte(says))
		return
	}
	for r := bufio.NewReader(c); ; {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		if strings.HasPrefix(line, "*") {
			_, _ = c.Write([]byte(says))
		}
	}
}
