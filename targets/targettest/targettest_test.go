package targettest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loadctl/loadctl/targets"
)

// startLines starts a server that answers each line with "OK " and the line, and counts them.
func startLines(t *testing.T) Server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	var count atomic.Int64
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for lines := bufio.NewScanner(c); lines.Scan(); {
					count.Add(1)
					fmt.Fprintf(c, "OK %s\n", lines.Text())
				}
			}()
		}
	}()
	return Server{
		Spec:  targets.Spec{URL: "lines://" + l.Addr().String(), Body: []byte("hello ${ordinal}")},
		Count: count.Load,
		Good: func(r targets.Request, a targets.Answer) error {
			if want := "OK " + string(r.Body) + "\n"; string(a.Body) != want {
				return fmt.Errorf("%q is answered with %q", r.Body, a.Body)
			}
			return nil
		},
	}
}

// lines is a Sender for that server, with one fault.
type lines struct {
	fault  string // "" = none
	limit  int
	single sync.Mutex

	mu     sync.Mutex
	idle   []net.Conn
	lent   []net.Conn // that are not idle, of a Sender that forgets them
	shared []byte
	closed bool
}

// linesWith is the scheme of a Sender with a fault.
func linesWith(fault string) targets.Scheme {
	return targets.Scheme{Name: "lines", Version: "1", Port: targets.NoPort, Bare: true, Open: func(s targets.Spec, _ targets.Local) (targets.Sender, error) {
		return &lines{fault: fault, limit: int(s.EffectiveBodyLimit())}, nil
	}}
}

var errClosed = errors.New("the sender is closed")

// take returns a connection that was used, or a new one.
func (l *lines) take(ctx context.Context, r targets.Request) (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed && l.fault != "sends after close" {
		return nil, errClosed
	}
	if n := len(l.idle); n > 0 && l.fault != "leaks connections" {
		c := l.idle[n-1]
		if l.fault != "keeps a broken connection" {
			l.idle = l.idle[:n-1]
		}
		return c, nil
	}
	if l.fault == "ignores a context that has ended" {
		ctx = context.WithoutCancel(ctx)
	}
	return new(net.Dialer).DialContext(ctx, r.Network, r.Address)
}

// give keeps a connection for the next request.
func (l *lines) give(c net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fault == "leaks connections" {
		l.lent = append(l.lent, c)
		return
	}
	if l.closed {
		c.Close()
		return
	}
	if l.fault != "keeps a broken connection" || len(l.idle) == 0 {
		l.idle = append(l.idle, c)
	}
}

// Do implements targets.Sender.
func (l *lines) Do(ctx context.Context, r targets.Request) targets.Answer {
	if l.fault == "one call at a time" && !l.single.TryLock() {
		return targets.Answer{Err: errors.New("busy")}
	} else if l.fault == "one call at a time" {
		defer l.single.Unlock()
	}
	if l.fault == "more connections than places" {
		for range 5 {
			if c, err := net.Dial(r.Network, r.Address); err == nil {
				defer c.Close()
			}
		}
	}
	c, err := l.take(ctx, r)
	if err != nil {
		if l.fault == "calls it a success that nobody is there" && !errors.Is(err, errClosed) && ctx.Err() == nil {
			err = nil
		}
		return targets.Answer{Err: err}
	}
	if l.fault != "has no deadline" && l.fault != "ignores a context that has ended" {
		defer context.AfterFunc(ctx, func() { c.SetDeadline(time.Unix(1, 0)) })()
	}
	a := l.exchange(c, r)
	switch {
	case a.Err != nil && l.fault == "keeps a connection that timed out" && ctx.Err() != nil:
		c.SetDeadline(time.Time{})
		l.give(c)
	case a.Err != nil && l.fault == "keeps a broken connection":
	case a.Err != nil:
		c.Close()
	case l.fault == "keeps a connection that timed out":
		l.give(c)
	default:
		c.SetDeadline(time.Time{})
		l.give(c)
	}
	if ctx.Err() != nil && a.Err != nil {
		a.Err = ctx.Err()
	}
	return a
}

// exchange sends a line, and reads the answer.
func (l *lines) exchange(c net.Conn, r targets.Request) (a targets.Answer) {
	for range map[bool]int{false: 1, true: 2}[l.fault == "sends twice"] {
		n, err := c.Write(append(slices.Clip(r.Body), '\n'))
		if a.BytesOut += int64(n); err != nil {
			a.Err = err
			return a
		}
	}
	if l.fault == "changes the request" {
		clear(r.Body)
	}
	most := int64(l.limit) + 1
	if l.fault == "reads all" {
		most = 1 << 40
	}
	in := bufio.NewReaderSize(io.LimitReader(c, most), 16)
	body, err := in.ReadBytes('\n')
	a.BytesIn, a.Body, a.Err = int64(len(body)), body, err
	good := bytes.HasPrefix(body, []byte("OK "))
	switch l.fault {
	case "counts no bytes":
		a.BytesIn, a.BytesOut = 0, 0
	case "uses a buffer again":
		l.shared = append(l.shared[:0], body...)
		a.Body = l.shared
	case "panics at garbage":
		if !good && len(body) > 0 {
			panic("what is that")
		}
	case "takes an end for an answer":
		if errors.Is(err, io.EOF) {
			a.Err = nil
		}
	}
	if !good && a.Err == nil && l.fault != "takes an end for an answer" && l.fault != "takes garbage for an answer" {
		a.Err = errors.New("no answer of this protocol")
	}
	if l.fault == "takes garbage for an answer" && !good && len(body) > 0 {
		a.Err = nil
	}
	return a
}

// Close implements targets.Sender.
func (l *lines) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed && l.fault == "panics when closed twice" {
		panic("closed")
	}
	l.closed = true
	for _, c := range l.idle {
		c.Close()
	}
	l.idle = nil
	return nil
}

// TestGood asserts that a scheme without a fault follows all rules.
func TestGood(t *testing.T) { Run(t, linesWith(""), startLines(t)) }

// TestFaults asserts that each fault is found, by the rule that it breaks.
func TestFaults(t *testing.T) {
	for fault, name := range map[string]string{
		"sends twice":                             "one request a call",
		"counts no bytes":                         "bytes are counted",
		"changes the request":                     "the request stays as it is",
		"uses a buffer again":                     "the answer stays as it is",
		"one call at a time":                      "concurrent calls",
		"more connections than places":            "no more connections than places",
		"ignores a context that has ended":        "a context that has ended",
		"has no deadline":                         "ends with its context",
		"keeps a connection that timed out":       "a late answer is not that of the next request",
		"takes an end for an answer":              "a connection that was cut",
		"panics at garbage":                       "garbage",
		"takes garbage for an answer":             "garbage",
		"reads all":                               "an endless answer",
		"calls it a success that nobody is there": "nobody is there",
		"keeps a broken connection":               "a server that is back",
		"panics when closed twice":                "close twice",
		"sends after close":                       "nothing after close",
		"leaks connections":                       "close frees the connections",
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			i := slices.IndexFunc(rules(), func(r rule) bool { return r.name == name })
			err := rules()[i].check(linesWith(fault), startLines(t), 2*time.Second)
			if err == nil {
				t.Fatalf("the rule %q does not find it", name)
			}
			t.Log(err)
		})
	}
}

// TestRunNeedsAConnection asserts that a scheme that connects nowhere is refused.
func TestRunNeedsAConnection(t *testing.T) {
	scheme := linesWith("")
	scheme.Port = ""
	if err := rules()[0].check(scheme, startLines(t), patience); err == nil {
		t.Error("no error")
	}
}
