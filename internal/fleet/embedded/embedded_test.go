package embedded

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/proof/await"
)

func start(t *testing.T) *Server {
	t.Helper()
	s, err := Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// connect returns a client with one connection that fails at once when the server is gone.
func connect(t *testing.T, s *Server) *redis.Client {
	t.Helper()
	options, err := redis.ParseURL(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	options.PoolSize, options.MaxRetries, options.DialerRetries = 1, -1, 1
	options.DialTimeout, options.ReadTimeout, options.WriteTimeout, options.PoolTimeout = time.Hour, time.Hour, time.Hour, time.Hour
	client := redis.NewClient(options)
	t.Cleanup(func() { client.Close() })
	if err := client.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	return client
}

// TestLifetimesPass: keys expire about when they should, and others stay.
func TestLifetimesPass(t *testing.T) {
	t.Parallel()
	s := start(t)
	client := connect(t, s)
	const (
		life  = time.Second
		slack = 6 * tick // a tick is not exact
	)
	began := time.Now()
	for _, command := range [][]any{
		{"SET", "string", "x", "PX", life.Milliseconds()}, {"HSET", "hash", "f", "x"}, {"PEXPIRE", "hash", life.Milliseconds()},
		{"SET", "long", "x", "PX", time.Hour.Milliseconds()}, {"SET", "forever", "x"},
	} {
		if err := client.Do(t.Context(), command...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{"string", "hash"} {
		await.True(t, "the end of "+key, func() bool { return client.Exists(t.Context(), key).Val() == 0 })
		if lived := time.Since(began); lived < life-slack {
			t.Errorf("%s has lived for %v, want %v", key, lived, life)
		}
	}
	least := time.Since(began)
	await.True(t, "a lifetime of an hour to become shorter", func() bool { // a tick may be late
		left := client.PTTL(t.Context(), "long").Val()
		if most := time.Since(began); left < time.Hour-most-slack {
			t.Fatalf("a lifetime of an hour has %v left after %v at most", left, most)
		}
		return left <= time.Hour-least+slack
	})
	if left := client.PTTL(t.Context(), "forever").Val(); left != -1 {
		t.Errorf("a key without a lifetime has one, %v", left)
	}
}

// TestLateTickShortensNoLaterLifetime: a lifetime that is set while a tick is an hour late is whole afterwards, set
// alone or by a script. Lifetimes from before the tick lose the hour.
func TestLateTickShortensNoLaterLifetime(t *testing.T) {
	t.Parallel()
	s := start(t)
	client := connect(t, s)
	late := func() {
		s.aging.Lock()
		s.aged = s.aged.Add(-time.Hour)
		s.aging.Unlock()
	}
	const life = 30 * time.Minute
	set := map[string][]any{
		"alone":  {"SET", "alone", "x", "PX", life.Milliseconds()},
		"script": {"EVAL", "return redis.call('SET', 'script', 'x', 'PX', ARGV[1])", 0, life.Milliseconds()},
	}
	if err := client.Set(t.Context(), "earlier", "x", life).Err(); err != nil {
		t.Fatal(err)
	}
	for key, command := range set {
		late()
		if err := client.Do(t.Context(), command...).Err(); err != nil {
			t.Fatal(err)
		}
		s.age(0)
		if left := client.PTTL(t.Context(), key).Val(); left <= 0 {
			t.Errorf("%s: %v is left of %v", key, left, life)
		}
		client.Del(t.Context(), key)
	}
	if n := client.Exists(t.Context(), "earlier").Val(); n != 0 {
		t.Error("a lifetime of 30 minutes lives after an hour")
	}
}

// TestTimeIsTheWallClock: also within a script.
func TestTimeIsTheWallClock(t *testing.T) {
	t.Parallel()
	client := connect(t, start(t))
	script := redis.NewScript("local t = redis.call('TIME') return t[1] * 1000000 + t[2]")
	var first, last int64
	for range 100 {
		before := time.Now().Truncate(time.Microsecond)
		now, err := client.Time(t.Context()).Result()
		if err != nil {
			t.Fatal(err)
		}
		us, err := script.Run(t.Context(), client, nil).Int64()
		if err != nil {
			t.Fatal(err)
		}
		if after := time.Now(); now.Before(before) || time.UnixMicro(us).Before(now) || time.UnixMicro(us).After(after) || us < last {
			t.Fatalf("TIME is %v and then %v, between %v and %v", now, time.UnixMicro(us), before, after)
		}
		first, last = cmp.Or(first, us), us
	}
	if first == last {
		t.Errorf("TIME stands still at %d", first)
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, err = Start(taken.Addr().String())
	if !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(err.Error(), taken.Addr().String()) || !strings.Contains(err.Error(), "another address") {
		t.Errorf("an address that is taken: %v", err)
	}
	for _, addr := range []string{"127.0.0.1", "127.0.0.1:99999", "nonsense", "host.invalid:0"} {
		if _, err := Start(addr); err == nil || !strings.Contains(err.Error(), addr) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", addr, err)
		}
	}
	s := start(t)
	u, err := url.Parse(s.URL())
	if err != nil || u.Scheme != "redis" || u.Hostname() != "127.0.0.1" || u.Port() == "0" {
		t.Fatalf("URL %s, %v", s.URL(), err)
	}
	s.Close()
	if again, err := Start(u.Host); err != nil {
		t.Errorf("the address of a server that was closed: %v", err)
	} else if again.Close(); again.URL() != s.URL() {
		t.Errorf("URL %s, want %s", again.URL(), s.URL())
	}
}

func TestManyClients(t *testing.T) {
	t.Parallel()
	s := start(t)
	if n := s.Clients(); n != 0 {
		t.Errorf("%d clients at the start", n)
	}
	const clients, calls = 50, 20
	script := redis.NewScript("local n = tonumber(redis.call('GET', KEYS[1]) or 0) + 1 redis.call('SET', KEYS[1], n) return n")
	var all []*redis.Client
	for range clients {
		all = append(all, connect(t, s))
	}
	if n := s.Clients(); n != clients {
		t.Errorf("%d clients, want %d", n, clients)
	}
	var seen sync.Map
	var wg sync.WaitGroup
	for _, client := range all {
		wg.Go(func() {
			for range calls {
				n, err := script.Run(t.Context(), client, []string{"n"}).Int()
				if err != nil {
					t.Error(err)
				}
				if _, twice := seen.LoadOrStore(n, true); twice {
					t.Errorf("two calls got %d: a script is not atomic", n)
				}
			}
		})
	}
	wg.Wait()
	if n, err := all[0].Get(t.Context(), "n").Int(); err != nil || n != clients*calls {
		t.Errorf("%d calls were counted, %v, want %d", n, err, clients*calls)
	}
	for _, client := range all[1:] {
		client.Close()
	}
	await.True(t, "clients to go", func() bool { return s.Clients() == 1 })
}

// TestMessagesArrive: also from scripts, and a subscriber may send PING.
func TestMessagesArrive(t *testing.T) {
	t.Parallel()
	s := start(t)
	client := connect(t, s)
	sub := connect(t, s).Subscribe(t.Context(), "wake")
	defer sub.Close()
	ctx := t.Context()
	receive := func() any {
		t.Helper()
		message, err := sub.Receive(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return message
	}
	if m, ok := receive().(*redis.Subscription); !ok || m.Channel != "wake" || m.Count != 1 {
		t.Fatalf("%+v, want that it is subscribed", m)
	}
	if err := redis.NewScript("return redis.call('PUBLISH', ARGV[1], ARGV[2])").Run(ctx, client, nil, "wake", "up").Err(); err != nil {
		t.Fatal(err)
	}
	if m, ok := receive().(*redis.Message); !ok || m.Payload != "up" {
		t.Errorf("%+v, want the message", m)
	}
	if err := sub.Ping(ctx); err != nil {
		t.Fatal(err)
	}
	if m, ok := receive().(*redis.Pong); !ok {
		t.Errorf("%+v, want the answer to PING", m)
	}
}

// TestClose: it ends everything, whatever the clients are doing. It is not parallel, because it looks for goroutines of
// any server.
func TestClose(t *testing.T) {
	script := redis.NewScript("for i = 1, 1000 do redis.call('HSET', KEYS[1], i, ARGV[1]) end return 'OK'")
	for name, calls := range map[string][]func(*redis.Client) error{
		"idle": nil,
		"busy": {
			func(c *redis.Client) error { return script.Run(t.Context(), c, []string{"hash"}, "x").Err() },
			func(c *redis.Client) error { return c.Do(t.Context(), "INFO").Err() },
		},
		"waiting": {func(c *redis.Client) error { return c.BLPop(t.Context(), 0, "list").Err() }},
		// More than an unread connection holds: a second call waits for the subscriber, and would block all others.
		"stuck": {func(c *redis.Client) error { return c.Publish(t.Context(), "loud", make([]byte, 32<<20)).Err() }},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			deaf(t, s, "loud")
			connect(t, s).RPush(t.Context(), "list", "x") // enough for one call of BLPOP
			var busy sync.WaitGroup
			for _, call := range calls {
				client := connect(t, s)
				if err := call(client); err != nil {
					t.Fatal(err)
				}
				before := s.server.TotalCommands()
				busy.Go(func() {
					for call(client) == nil {
					}
				})
				await.True(t, "the second call", func() bool { return s.server.TotalCommands() > before })
			}
			await.Done(t, "the end of Close", func() { closeTwice(t, s) })
			await.Done(t, "the end of a client", busy.Wait)
		})
	}
	stacks := make([]byte, 1<<20)
	await.True(t, "the end of the servers' goroutines", func() bool {
		now := stacks[:runtime.Stack(stacks, true)]
		return !bytes.Contains(now, []byte("miniredis")) && !bytes.Contains(now, []byte("(*Server).tickOn"))
	})
}

// closeTwice closes twice at the same time; neither call may return before the server has ended.
func closeTwice(t *testing.T, s *Server) {
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if n := s.Clients(); n != 0 {
				t.Errorf("%d clients after Close", n)
			}
		})
	}
	both.Wait()
}

// deaf subscribes to a channel and reads only the confirmation.
func deaf(t *testing.T, s *Server, channel string) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL(), "redis://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := fmt.Fprintf(conn, "*2\r\n$9\r\nSUBSCRIBE\r\n$%d\r\n%s\r\n", len(channel), channel); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
}

// TestSubscriberMayCall: a client that uses RESP3 sends other calls on the connection that carries messages, even calls
// that publish to itself. No message comes within a reply.
func TestSubscriberMayCall(t *testing.T) {
	t.Parallel()
	s := start(t)
	c, err := net.Dial("tcp", strings.TrimPrefix(s.URL(), "redis://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const published = 2000 // by one call, more than any buffer has
	requests := [][]string{
		{"HELLO", "3"},
		{"SUBSCRIBE", "wake"},
		{"EVAL", fmt.Sprintf("for i = 1, %d do redis.call('PUBLISH', 'wake', i) end return {1, 2, 3}", published), "0"},
		{"HELLO", "3"}, // a long reply, in parts
		{"PING"},
		{"UNSUBSCRIBE", "wake"},
		{"PUBLISH", "wake", "not received"},
		{"ECHO", "the end"},
	}
	var all strings.Builder
	for _, r := range requests {
		fmt.Fprintf(&all, "*%d\r\n", len(r))
		for _, word := range r {
			fmt.Fprintf(&all, "$%d\r\n%s\r\n", len(word), word)
		}
	}
	if _, err := io.WriteString(c, all.String()); err != nil {
		t.Fatal(err)
	}
	var got []byte
	// Messages come beside replies, so the last one may come after the last reply.
	for b := make([]byte, 64<<10); !bytes.Contains(got, []byte("$7\r\nthe end\r\n")) || bytes.Count(got, []byte("\r\nmessage\r\n")) < published; {
		n, err := c.Read(b)
		if err != nil {
			t.Fatalf("%v, after %d messages", err, bytes.Count(got, []byte("\r\nmessage\r\n")))
		}
		got = append(got, b[:n]...)
	}
	last := 0
	for part := range strings.SplitSeq(string(got), ">3\r\n$7\r\nmessage\r\n$4\r\nwake\r\n$") {
		var size, i int
		if n, _ := fmt.Sscanf(part, "%d\r\n%d\r\n", &size, &i); n == 2 && size > 0 && i != last+1 {
			t.Fatalf("message %d after %d", i, last)
		} else if n == 2 {
			last = i
		}
	}
	text := regexp.MustCompile(`>3\r\n\$7\r\nmessage\r\n\$4\r\nwake\r\n\$\d+\r\n\d+\r\n`).ReplaceAllString(string(got), "")
	for _, want := range []string{">3\r\n$9\r\nsubscribe\r\n$4\r\nwake\r\n:1\r\n*3\r\n:1\r\n:2\r\n:3\r\n%7", "+PONG\r\n>3\r\n$11\r\nunsubscribe\r\n$4\r\nwake\r\n:0\r\n:0\r\n$7\r\nthe end"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q\nwithout %q", text, want)
		}
	}
}
