package link

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/proof/echotest"
	"github.com/loadctl/loadctl/internal/proof/redistest"
)

// bomber starts a server that answers as usual, except to the commands named in answers. It returns its URL.
func bomber(t *testing.T, answers map[string]string) string {
	t.Helper()
	return "redis://" + echotest.Listen(t, "127.0.0.1:0", func(c net.Conn) {
		for r := bufio.NewReader(c); ; {
			args, err := command(r)
			if err != nil {
				return
			}
			answer, known := answers[strings.ToUpper(args[0])]
			if !known {
				answer = map[string]string{"HELLO": "%1\r\n+proto\r\n:3\r\n", "PING": "+PONG\r\n"}[strings.ToUpper(args[0])]
			}
			if answer == "" {
				answer = "+OK\r\n"
			}
			if _, err := io.WriteString(c, answer); err != nil {
				return
			}
		}
	})
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

// TestReplyBombs: a server that announces gigabytes costs the client at most 64 MB, and the call fails.
func TestReplyBombs(t *testing.T) {
	const huge = "2147483648\r\n"
	calls := map[string]func(rdb.Client) error{
		"HGETALL": func(c rdb.Client) error { return c.HGetAll(t.Context(), "k").Err() },
		"GET":     func(c rdb.Client) error { return c.Get(t.Context(), "k").Err() },
		"LRANGE":  func(c rdb.Client) error { return c.LRange(t.Context(), "k", 0, 1).Err() },
		"XRANGE":  func(c rdb.Client) error { return c.XRange(t.Context(), "k", "-", "+").Err() },
		"EVALSHA": func(c rdb.Client) error { return c.EvalSha(t.Context(), "x", nil).Err() },
		"EXEC": func(c rdb.Client) error {
			_, err := c.TxPipelined(t.Context(), func(p redis.Pipeliner) error { return p.Get(t.Context(), "k").Err() })
			return err
		},
		"SUBSCRIBE": func(c rdb.Client) error {
			_, err := c.(*redis.Client).Subscribe(t.Context(), "k").Receive(t.Context())
			return err
		},
	}
	for name, c := range map[string]struct{ command, answer string }{
		"map": {"HGETALL", "%" + huge}, "map as an array": {"HGETALL", "*" + huge}, "string": {"GET", "$" + huge}, "verbatim": {"GET", "=" + huge},
		"error": {"GET", "!" + huge}, "array": {"LRANGE", "*" + huge}, "set": {"LRANGE", "~" + huge}, "attributes": {"GET", "|" + huge},
		"messages": {"XRANGE", "*" + huge}, "values": {"XRANGE", "*1\r\n*2\r\n$3\r\n1-1\r\n*" + huge}, "script": {"EVALSHA", "*" + huge},
		"arrays within each other": {"EVALSHA", strings.Repeat("*1000000\r\n", 1000)}, "maps within each other": {"EVALSHA", strings.Repeat("%500000\r\n+a\r\n", 1000)},
		"deep": {"EVALSHA", strings.Repeat("*1\r\n", 100_000)}, "beyond int64": {"EVALSHA", "*99999999999999999999\r\n"}, "wraps round": {"EVALSHA", "%9223372036854775807\r\n"},
		"arrays side by side": {"EVALSHA", "*3\r\n" + strings.Repeat("*900000\r\n", 3)}, "less than nothing": {"EVALSHA", "*-2\r\n"},
		"transaction": {"EXEC", "*" + huge}, "pushed": {"SUBSCRIBE", ">" + huge}, "a line without end": {"GET", "+" + strings.Repeat("x", 1<<20)},
		"a number without end": {"GET", "$" + strings.Repeat("1", 1000)}, "no protocol": {"GET", "HTTP/1.1 200 OK\r\n\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			client, err := Connect(t.Context(), bomber(t, map[string]string{c.command: c.answer})+"?read_timeout=1h")
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			cost, err := allocated(func() error { return calls[c.command](client) })
			if !errors.Is(err, errReplyBig) && !errors.Is(err, errReply) {
				t.Errorf("the error is %v", err)
			}
			if cost > 64<<20 {
				t.Errorf("it cost %d MB", cost>>20)
			}
		})
	}
	t.Run("Sentinel", func(t *testing.T) {
		cost, err := allocated(func() error {
			_, err := Connect(t.Context(), bomber(t, map[string]string{"SENTINEL": "*" + huge})+"?master_name=m")
			return err
		})
		if err == nil || !strings.Contains(err.Error(), errReplyBig.Error()) || cost > 64<<20 {
			t.Errorf("it cost %d MB: %v", cost>>20, err)
		}
	})
	t.Run("master of a Sentinel", func(t *testing.T) {
		host, port, _ := strings.Cut(strings.TrimPrefix(bomber(t, map[string]string{"GET": "$" + huge}), "redis://"), ":")
		where := fmt.Sprintf("*2\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n", len(host), host, len(port), port)
		client, err := Connect(t.Context(), bomber(t, map[string]string{"SENTINEL": where})+"?master_name=m")
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		cost, err := allocated(func() error { return calls["GET"](client) })
		if !errors.Is(err, errReplyBig) || cost > 64<<20 {
			t.Errorf("it cost %d MB: %v", cost>>20, err)
		}
	})
	t.Run("cluster", func(t *testing.T) {
		cost, err := allocated(func() error {
			_, err := Connect(t.Context(), bomber(t, map[string]string{"HELLO": "%1\r\n+mode\r\n+cluster\r\n", "CLUSTER": "*" + huge}))
			return err
		})
		if !errors.Is(err, errReplyBig) || cost > 64<<20 {
			t.Errorf("it cost %d MB: %v", cost>>20, err)
		}
	})
}

// allocated returns how many bytes a call allocates, freed or not.
func allocated(call func() error) (uint64, error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := call()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc, err
}

// TestRepliesPass: real replies pass unchanged, whatever the pieces they arrive in, and the check finds their ends. One
// of them is of 180 MB.
func TestRepliesPass(t *testing.T) {
	many := "*200000\r\n" + strings.Repeat(":1\r\n", 200_000)
	const strs = 20
	large := "$9000000\r\n" + strings.Repeat("x", 9_000_000) + "\r\n"
	texts := []string{
		"+OK\r\n", "-ERR x\r\n", ":1\r\n", "_\r\n", ",1.5\r\n", "#t\r\n", "(12345678901234567890\r\n", "$-1\r\n", "*-1\r\n", "*0\r\n", "%0\r\n", "~0\r\n", "$0\r\n\r\n", "=7\r\ntxt:abc\r\n",
		"!5\r\nERR x\r\n", "*2\r\n*1\r\n:1\r\n%1\r\n+a\r\n*0\r\n", "|1\r\n+ttl\r\n:3600\r\n*2\r\n|0\r\n:1\r\n:2\r\n", ">3\r\n+message\r\n+a\r\n$14\r\n*9999999999\r\n\xff\r\n",
		"$30\r\n*4294967296\r\n$99999999999\r\n\x00\x00\xff\r\n", "*1\r\n$10\r\n\n\n\n\n\n\n\n\n\n\n\r\n", "+" + strings.Repeat("x", 1000) + "\r\n", many,
		"*1000000\r\n" + strings.Repeat("_\r\n", 1_000_000),
	}
	random := rand.New(rand.NewPCG(1, 2))
	for _, size := range []int{7, 4096, 32 << 10, 40 << 20} {
		var c replies
		var all []io.Reader
		for range 3 {
			for _, i := range random.Perm(len(texts)) {
				all = append(all, strings.NewReader(texts[i]))
			}
		}
		if size > 7 { // by few bytes it takes long
			middle := []io.Reader{strings.NewReader(fmt.Sprintf("*%d\r\n", strs))}
			for range strs {
				middle = append(middle, strings.NewReader(large))
			}
			all = slices.Insert(all, len(texts), middle...)
		}
		piece := make([]byte, size)
		for text := io.MultiReader(all...); ; {
			n, end := io.ReadFull(text, piece[:1+random.IntN(size)])
			if good, err := c.follow(piece[:n]); err != nil || good != n {
				t.Fatalf("%d of %d of %.60q: %v", good, n, piece[:n], err)
			}
			if end != nil {
				break
			}
		}
		if len(c.open) != 0 || c.body != 0 || c.received != 0 {
			t.Errorf("at the end %d are open, %d bytes are to come", len(c.open), c.body)
		}
	}
}

// TestLargeSeries: the points of many workers can be read, although they are larger than one reply may be.
func TestLargeSeries(t *testing.T) {
	server := redistest.Start(t)
	client, err := Connect(t.Context(), server.URL()+"?read_timeout=1h")
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	const workers, points = 700, 1024
	const fill = "for i = 0, ARGV[2] - 1 do redis.call('HSET', KEYS[1], 'w' .. ARGV[1] .. '/x/' .. i, i) end"
	for w := range workers {
		if err := client.Eval(t.Context(), fill, []string{"series"}, w, points).Err(); err != nil && !errors.Is(err, redis.Nil) {
			t.Fatal(err)
		}
	}
	fields := map[string]string{}
	err = ScanHash(t.Context(), client, "series", func(name, text string) error {
		fields[name] = text
		return nil
	})
	if err != nil || len(fields) != workers*points || fields["w699/x/1023"] != "1023" {
		t.Errorf("%d fields, %v", len(fields), err)
	}
	if err := client.HGetAll(t.Context(), "series").Err(); !errors.Is(err, errReplyBig) {
		t.Errorf("in one reply: %v", err)
	}
	if err := client.Ping(t.Context()).Err(); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// TestHangUpIsSeen: the check of replies does not hide that a server has closed a connection: the client does not use
// it.
func TestHangUpIsSeen(t *testing.T) {
	server := redistest.Start(t)
	client, err := Connect(t.Context(), server.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for range 20 {
		if err := server.Client().Do(context.Background(), "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes").Err(); err != nil {
			t.Fatal(err)
		}
		if err := client.Ping(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// BenchmarkReplies measures the check of replies: of one reply as long as a renewal's, and of a round trip with and
// without the check.
func BenchmarkReplies(b *testing.B) {
	reply := []byte("*4\r\n$2\r\nok\r\n$120\r\n" + strings.Repeat("\x00", 120) + "\r\n$16\r\n" + strings.Repeat("\xff", 16) + "\r\n*0\r\n")
	b.Run("check", func(b *testing.B) {
		var c replies
		b.ReportAllocs()
		for b.Loop() {
			if _, err := c.follow(reply); err != nil {
				b.Fatal(err)
			}
		}
	})
	server := redistest.Start(b)
	o, err := redis.ParseURL(server.URL())
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range []string{"with", "without"} {
		b.Run(name, func(b *testing.B) {
			client := redis.NewClient(o)
			defer client.Close()
			if name == "with" {
				client.AddHook(replyLimit{})
			}
			script := redis.NewScript("return {'ok', ARGV[1], '0123456789abcdef', {}}")
			arg := strings.Repeat("\x00", 120)
			for b.Loop() {
				if err := script.Run(b.Context(), client, nil, arg).Err(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// FuzzReplies: for any bytes of a server, the check does not panic. Its result does not depend on the pieces in which
// they arrive.
func FuzzReplies(f *testing.F) {
	f.Add([]byte("*2\r\n$3\r\nabc\r\n|1\r\n+a\r\n:1\r\n:2\r\n"), uint64(1))
	f.Add([]byte("%2147483648\r\n"), uint64(2))
	f.Fuzz(func(t *testing.T, text []byte, seed uint64) {
		var whole, cut replies
		want, wantErr := whole.follow(text)
		random := rand.New(rand.NewPCG(seed, 0))
		got, err := 0, error(nil)
		for rest := text; len(rest) > 0 && err == nil; {
			n := 1 + random.IntN(len(rest))
			var good int
			good, err = cut.follow(rest[:n])
			got, rest = got+good, rest[n:]
		}
		if !errors.Is(err, wantErr) || err == nil && got != want || got < want {
			t.Errorf("%q: whole %d, %v; cut %d, %v", text, want, wantErr, got, err)
		}
	})
}
