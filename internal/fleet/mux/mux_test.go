package mux_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/loadctl/loadctl/internal/fleet/mux"
	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
)

// shared returns a client at an address whose connections all use one socket, and its Dialer. It counts the sockets
// opened.
func shared(t *testing.T, addr string) (client *redis.Client, lines *mux.Dialer, sockets *atomic.Int64) {
	t.Helper()
	sockets = new(atomic.Int64)
	lines = mux.New(func(ctx context.Context, network, addr string) (net.Conn, error) {
		sockets.Add(1)
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	})
	client = redis.NewClient(&redis.Options{
		Addr: addr, Dialer: lines.Dial, Protocol: 3, MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true, PoolSize: 100,
		DisableIdentity: true, MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	t.Cleanup(func() {
		client.Close()
		lines.Close()
	})
	return client, lines, sockets
}

// subscribe returns when messages arrive.
func subscribe(t *testing.T, client *redis.Client, lines *mux.Dialer, channel string) {
	t.Helper()
	must(t, client.Do(t.Context(), "subscribe", channel).Err())
	await.Receive(t, "a subscription to wake its reader", lines.Wake())
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestOneSocket: with concurrent calls of all sizes and pipelines, each call gets its own reply, and the server has one
// connection.
func TestOneSocket(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, direct rdb.Client) {
		client, lines, sockets := shared(t, redistest.Addr(direct))
		subscribe(t, client, lines, "news")
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				for j := range 50 {
					text := strings.Repeat(fmt.Sprint(i, "/", j, " "), 1+rand.IntN(1<<(j%14)))
					key := fmt.Sprint("k", i)
					if got, err := client.Echo(t.Context(), text).Result(); err != nil || got != text {
						t.Errorf("another reply, %v: %.40q, want %.40q", err, got, text)
					}
					_, err := client.Pipelined(t.Context(), func(p redis.Pipeliner) error {
						p.Set(t.Context(), key, text, 0)
						p.Publish(t.Context(), "news", "x")
						return nil
					})
					if got := client.Get(t.Context(), key).Val(); err != nil || got != text {
						t.Errorf("%v: %.40q, want %.40q", err, got, text)
					}
				}
			})
		}
		all.Wait()
		if n := sockets.Load(); n != 1 {
			t.Errorf("%d sockets, want 1", n)
		}
		if n := len(lines.Messages()); n == 0 {
			t.Error("no message came beside the calls")
		}
	})
}

// TestNoCallWaitsForAReply: a server that answers nothing until it has 10 calls gets 10 calls that begin together.
func TestNoCallWaitsForAReply(t *testing.T) {
	t.Parallel()
	const calls = 10
	addr, hold := gathering(t, redistest.Start(t).Addr(), "ping", calls)
	client, _, _ := shared(t, addr)
	together := func() {
		var all sync.WaitGroup
		for range calls {
			all.Go(func() {
				if err := client.Ping(t.Context()).Err(); err != nil {
					t.Error(err)
				}
			})
		}
		await.Done(t, "10 answers", all.Wait)
	}
	together() // the streams are there from now on
	hold.Store(true)
	together()
}

// gathering returns the address of a proxy. Once hold is set, it passes nothing on that the server says, until `many`
// calls of a command have come.
func gathering(t *testing.T, server, command string, many int) (addr string, hold *atomic.Bool) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { l.Close() })
	hold = new(atomic.Bool)
	all := make(chan struct{})
	go func() {
		near, err := l.Accept()
		if err != nil {
			return
		}
		defer near.Close()
		away, err := net.Dial("tcp", server)
		if err != nil {
			return
		}
		go func() {
			defer away.Close()
			came := 0
			for lines := bufio.NewScanner(io.TeeReader(near, away)); lines.Scan(); {
				if hold.Load() && lines.Text() == command {
					if came++; came == many {
						close(all)
					}
				}
			}
		}()
		for b := make([]byte, 64<<10); ; {
			n, err := away.Read(b)
			if err != nil {
				return
			}
			if hold.Load() {
				select {
				case <-all:
				case <-t.Context().Done():
				}
			}
			_, _ = near.Write(b[:n])
		}
	}()
	return l.Addr().String(), hold
}

// TestMessages: messages come in order, also beside calls, and also in a burst of 10,000.
func TestMessages(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, direct rdb.Client) {
		client, lines, _ := shared(t, redistest.Addr(direct))
		subscribe(t, client, lines, "news")
		const n = 10_000
		read := make(chan int)
		go func() { // it reads as quickly as it can, and still may miss some
			last := -1
			for last < n-1 {
				var i int
				if _, err := fmt.Sscanf(string(<-lines.Messages()), "message %d", &i); err != nil || i <= last {
					t.Errorf("message %d after %d, %v", i, last, err)
				}
				last = i
			}
			read <- last
		}()
		for i := 0; i < n; i += 100 {
			_, err := direct.Pipelined(t.Context(), func(p redis.Pipeliner) error {
				for j := i; j < i+100; j++ {
					p.Publish(t.Context(), "news", fmt.Sprint("message ", j))
				}
				return nil
			})
			must(t, err)
			must(t, client.Ping(t.Context()).Err())
		}
		await.Receive(t, "the last message", read)
	})
}

// TestSlowReader: a slow reader blocks nobody, and finds the newest messages in order. An empty message only wakes.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, direct rdb.Client) {
		client, lines, _ := shared(t, redistest.Addr(direct))
		subscribe(t, client, lines, "news")
		must(t, direct.Publish(t.Context(), "news", "").Err())
		<-lines.Wake()
		if n := len(lines.Messages()); n != 0 {
			t.Errorf("an empty message has a payload, %d", n)
		}
		const n = 2_000
		for i := range n {
			must(t, direct.Publish(t.Context(), "news", fmt.Sprint(i)).Err())
		}
		must(t, client.Ping(t.Context()).Err())
		await.True(t, "as many messages as are kept", func() bool { return len(lines.Messages()) == cap(lines.Messages()) })
		<-lines.Wake()
		for last := -1; last < n-1; { // a server may bring messages while others are read: then the oldest of these are dropped
			next, err := strconv.Atoi(string(await.Receive(t, "a message", lines.Messages())))
			if err != nil || next <= last {
				t.Fatalf("message %d behind %d, %v", next, last, err)
			}
			last = next
		}
		if n := len(lines.Messages()); n != 0 {
			t.Errorf("%d messages behind the last one", n)
		}
	})
}

// TestLostSocket: if the server ends the connection, subscribers notice at once, and the next call succeeds, whatever
// streams there were.
func TestLostSocket(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client, lines, sockets := shared(t, server.Addr())
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() { must(t, client.Ping(t.Context()).Err()) })
	}
	all.Wait()
	subscribe(t, client, lines, "news")
	must(t, server.Client().ClientKillByFilter(t.Context(), "TYPE", "pubsub").Err())
	await.Closed(t, "the subscriber to notice it", lines.Lost())
	must(t, client.Ping(t.Context()).Err())
	subscribe(t, client, lines, "news")
	if n := sockets.Load(); n != 2 {
		t.Errorf("%d sockets, want 2", n)
	}
}

// TestSilence: a call that gives up ends no other call, and a server keeps its connection after a short pause. After a
// longer silence it loses it.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const silence = 500 * time.Millisecond
		servers := make(chan net.Conn, 2)
		lines := mux.New(func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			go io.Copy(io.Discard, theirs)
			servers <- theirs
			return ours, nil
		})
		defer lines.Close()
		call := func() net.Conn {
			c, err := lines.Dial(t.Context(), "tcp", "server")
			must(t, err)
			_, err = c.Write([]byte("*1\r\n$4\r\nPING\r\n"))
			must(t, err)
			return c
		}
		patient, hasty := call(), call()
		server := <-servers
		time.Sleep(silence)
		must(t, hasty.Close())
		_, err := server.Write([]byte("+PONG\r\n+PONG\r\n"))
		must(t, err)
		answer := make([]byte, 16)
		if n, err := patient.Read(answer); err != nil || string(answer[:n]) != "+PONG\r\n" {
			t.Errorf("a call was lost because another one gave up: %q, %v", answer[:n], err)
		}

		patient, hasty = call(), call()
		if len(servers) > 0 {
			t.Error("a second connection after a short pause")
		}
		time.Sleep(silence + time.Millisecond)
		must(t, hasty.Close())
		if _, err := patient.Read(answer); err == nil || !strings.Contains(err.Error(), "no answer for 500ms") {
			t.Errorf("the connection of a server that does not answer: %v", err)
		}
		defer call().Close()
		if len(servers) != 1 {
			t.Error("no other connection after a long silence")
		}
	})
}

// TestRefused: the error has the server's own words, and it is not asked again at once: 100 calls in a row cause few
// refusals.
func TestRefused(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	must(t, server.Client().ConfigSet(t.Context(), "maxclients", "1").Err())
	client, _, sockets := shared(t, server.Addr())
	for range 100 {
		err := client.Ping(t.Context()).Err()
		if !errors.Is(err, mux.ErrRefused) || !strings.Contains(err.Error(), "max number of clients") {
			t.Fatalf("%v", err)
		}
	}
	if n := sockets.Load(); n > 10 {
		t.Errorf("%d connections were refused", n)
	}
	must(t, server.Client().ConfigSet(t.Context(), "maxclients", "100").Err())
	await.True(t, "the server to take the client", func() bool { return client.Ping(t.Context()).Err() == nil })
}

// refusing is a socket whose server refuses it while the first request is written.
type refusing struct {
	net.Conn

	writes, closed chan struct{}
	once           sync.Once
}

func (r *refusing) Write([]byte) (int, error) {
	close(r.writes)
	<-r.closed
	return 0, net.ErrClosed
}

func (r *refusing) Read(p []byte) (int, error) {
	<-r.writes
	return copy(p, "-ERR max number of clients reached\r\n"), nil
}

func (r *refusing) Close() error {
	r.once.Do(func() { close(r.closed) })
	return nil
}

func (*refusing) SetWriteDeadline(time.Time) error { return nil }

// TestRefusedInTheWrite: the refusal is the error, and not that of the write which it cuts off. Else a worker would end
// instead of trying again.
func TestRefusedInTheWrite(t *testing.T) {
	t.Parallel()
	lines := mux.New(func(context.Context, string, string) (net.Conn, error) {
		return &refusing{writes: make(chan struct{}), closed: make(chan struct{})}, nil
	})
	defer lines.Close()
	c, err := lines.Dial(t.Context(), "tcp", "server")
	must(t, err)
	if _, err := c.Write([]byte("*1\r\n$4\r\nPING\r\n")); !errors.Is(err, mux.ErrRefused) {
		t.Errorf("%v", err)
	}
}

// TestClose: afterwards nothing is open, and nothing opens any more.
func TestClose(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client, lines, _ := shared(t, server.Addr())
	subscribe(t, client, lines, "news")
	must(t, lines.Close())
	await.Closed(t, "the end of the socket", lines.Lost())
	if err := client.Ping(t.Context()).Err(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("%v", err)
	}
}

// TestLostFirstPacket: a connection that does not open does not delay the next one, and a refusal is returned at once.
func TestLostFirstPacket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const again = 500 * time.Millisecond
		refusal := errors.New("refused")
		for lost, want := range map[int]time.Duration{0: 0, 1: again, 3: 3 * again, 100: 5 * time.Second} {
			for _, err := range []error{nil, refusal} {
				var tries, open atomic.Int64
				lines := mux.New(func(ctx context.Context, _, _ string) (net.Conn, error) {
					if int(tries.Add(1)) <= lost {
						<-ctx.Done()
						return nil, ctx.Err()
					}
					if err != nil {
						return nil, err
					}
					ours, theirs := net.Pipe()
					open.Add(1)
					go func() {
						_, _ = theirs.Read(make([]byte, 1))
						open.Add(-1)
					}()
					return ours, nil
				})
				limit, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				began := time.Now()
				_, got := lines.Dial(limit, "tcp", "here")
				if took := time.Since(began); took != want {
					t.Errorf("with %d lost packets it took %v, want %v", lost, took, want)
				}
				switch {
				case lost == 100 && !errors.Is(got, context.DeadlineExceeded), lost < 100 && !errors.Is(got, err):
					t.Errorf("with %d lost packets: %v", lost, got)
				case got == nil:
					if synctest.Wait(); open.Load() != 1 {
						t.Errorf("%d sockets are open", open.Load())
					}
				}
				cancel()
				lines.Close()
				synctest.Wait()
				if open.Load() != 0 {
					t.Errorf("%d sockets are left open", open.Load())
				}
			}
		}
	})
}
