package link

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
)

// answer is an error that a server answered.
type answer string

func (a answer) Error() string { return string(a) }

func (answer) RedisError() {}

func TestAdvise(t *testing.T) {
	used := map[string]bool{}
	for _, c := range []struct {
		answer, says string
		url          bool
	}{
		{"WRONGPASS invalid username-password pair or user is disabled.", "user or password is wrong", true},
		{"ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?", "leave the password out", true},
		{"NOAUTH Authentication required.", "redis://:PASSWORD@host:port", true},
		{"NOPERM this user has no permissions to run the 'evalsha' command", "loadctl doctor", true},
		{"ERR The user executing the script can't run this command or subcommand script: f00, on @user_script:1.", "loadctl doctor", true},
		{"DENIED Redis is running in protected mode because protected mode is enabled and no password is set", "give it a password", true},
		{"READONLY You can't write against a read only replica.", "the address of its master", true},
		{"MOVED 3999 127.0.0.1:6381", "redis://host:port?addr=host:port", true},
		{"ERR This instance has cluster support disabled", "leave ?addr= out", true},
		{"ERR SELECT is not allowed in cluster mode", "leave the number out", true},
		{"CLUSTERDOWN Hash slot not served", "redis-cli cluster info", false},
		{"TRYAGAIN Multiple keys request during rehashing of slot", "being moved", false},
		{"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", "the address of the master", true},
		{"NOREPLICAS Not enough good replicas to write.", "min-replicas-to-write", false},
		{"-OOM command not allowed when used memory > 'maxmemory'.", "raise its maxmemory", false},
		{"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.", "see its log", false},
		{"LOADING Redis is loading the dataset in memory", "wait a moment", false},
		{"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.", "redis-cli script kill", false},
		{"EXECABORT Transaction discarded because of previous errors.", "loadctl doctor", false},
		{"ERR max number of clients reached", "raise its maxclients", false},
		{"WRONGTYPE Operation against a key holding the wrong kind of value", "another database", false},
		{"ERR unknown command 'EVALSHA', with args beginning with: ", "Redis 6.2 or newer", true},
		{"ERR unknown command `evalsha`, with args beginning with: ", "Redis 6.2 or newer", true},
		{"ERR Unknown Redis command called from script script: f00", "Redis 6.2 or newer", true},
		{"ERR value is not an integer or out of range", "", false},
		{"BUSYKEY Target key name already exists.", "", false},
	} {
		err := fmt.Errorf("open run NOAUTH: %w", answer(c.answer))
		got := Advise(err)
		text := got.Error()
		if kept := strings.TrimSuffix(err.Error(), "."); !strings.HasPrefix(text, kept) || !strings.Contains(text[len(kept):], c.says) || (c.says == "") != (got == err) { //nolint:errorlint // the very same
			t.Errorf("%q became %q, which does not say %q", c.answer, text, c.says)
		}
		if WrongURL(err) != c.url || WrongURL(got) != c.url {
			t.Errorf("%q: is the URL wrong? %v, %v", c.answer, WrongURL(err), WrongURL(got))
		}
		if again := Advise(fmt.Errorf("ask: %w", got)); again.Error() != "ask: "+text {
			t.Errorf("said twice: %q", again)
		}
		if !errors.Is(got, answer(c.answer)) {
			t.Errorf("%q is not the server's error any more", text)
		}
		for _, a := range advices() {
			if strings.Contains(c.answer, a.word) {
				used[a.word] = true
			}
		}
	}
	for _, a := range advices() {
		if !used[a.word] {
			t.Errorf("no answer with %q here", a.word)
		}
	}
	for _, err := range []error{nil, errors.New("NOAUTH"), fmt.Errorf("read: %w", net.ErrClosed), redis.Nil} {
		if got := Advise(err); got != err || WrongURL(err) { //nolint:errorlint // the very same
			t.Errorf("%v became %v", err, got)
		}
	}
}

// TestConnectEndsWithItsContext: Connect returns with its context, although the server does not answer.
func TestConnectEndsWithItsContext(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		if c, err := l.Accept(); err == nil {
			defer c.Close()
			_, _ = c.Read(make([]byte, 1)) // wait for the client's first bytes
			cancel()
			<-t.Context().Done()
		}
	}()
	if client, err := Connect(ctx, "redis://"+l.Addr().String()); client != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", client, err)
	}
}

// TestGreetEndsWithItsContext: the greeting ends at once with its context, and not at the end of its own patience. Time is
// virtual.
func TestGreetEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := redis.NewClient(&redis.Options{
			Addr: "127.0.0.1:1", Dialer: func(context.Context, string, string) (net.Conn, error) { return hanging(t), nil },
			MaxRetries: -1, ContextTimeoutEnabled: true,
		})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		began := time.Now()
		if err, took := greet(ctx, client), time.Since(began); !errors.Is(err, context.Canceled) || took != time.Second {
			t.Errorf("%v after %v", err, took)
		}
	})
}

// hanging returns a connection whose peer reads and says nothing.
func hanging(t *testing.T) net.Conn {
	near, far := net.Pipe()
	go func() { _, _ = io.Copy(io.Discard, far) }()
	t.Cleanup(func() { near.Close() })
	return near
}
