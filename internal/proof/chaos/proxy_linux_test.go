package chaos

import (
	"context"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/proof/await"
)

// A proxy passes on TCP connections, with optional faults. Its address stays when its target changes.
type proxy struct {
	listener net.Listener
	wg       sync.WaitGroup

	mu     sync.Mutex
	to     string
	least  time.Duration // delay of each piece of data is in [least, most), in each direction; order is kept
	most   time.Duration
	open   map[net.Conn]struct{}
	frozen bool // nothing is passed on
	closed bool
}

// newProxy passes connections on to an address; each way takes from least to most.
func newProxy(t testing.TB, to string, least, most time.Duration) *proxy {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, to: to, least: least, most: most, open: map[net.Conn]struct{}{}}
	p.wg.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

// addr returns where it listens, as host:port.
func (p *proxy) addr() string { return p.listener.Addr().String() }

// lead sends new connections to another address, and ends existing ones.
func (p *proxy) lead(to string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.to = to
	p.hangUp()
}

// freeze drops what has not been passed on, and passes on nothing from now on. Connections stay open.
func (p *proxy) freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frozen = true
}

// hangUp ends all connections. The caller holds the lock.
func (p *proxy) hangUp() {
	for c := range p.open {
		c.Close()
	}
}

func (p *proxy) close() {
	p.listener.Close()
	p.mu.Lock()
	p.closed = true
	p.hangUp()
	p.mu.Unlock()
	p.wg.Wait()
}

func (p *proxy) accept() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.wg.Go(func() { p.serve(c) })
	}
}

// serve passes one connection on.
func (p *proxy) serve(c net.Conn) {
	defer c.Close()
	p.mu.Lock()
	to := p.to
	p.mu.Unlock()
	d, err := net.DialTimeout("tcp", to, time.Second)
	if err != nil {
		return // the client sees the connection end
	}
	defer d.Close()
	if !p.enter(to, c, d) {
		return
	}
	defer p.leave(c, d)
	var both sync.WaitGroup
	both.Go(func() { p.pass(c, d) })
	both.Go(func() { p.pass(d, c) })
	both.Wait()
}

// enter registers the two ends of a connection; false if the proxy no longer leads to their address.
func (p *proxy) enter(to string, ends ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.to != to {
		return false
	}
	for _, c := range ends {
		p.open[c] = struct{}{}
	}
	return true
}

func (p *proxy) leave(ends ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range ends {
		delete(p.open, c)
	}
}

// piece is data on its way.
type piece struct {
	data []byte
	due  time.Time
}

// pass passes on one direction until one of the ends is closed, and then closes both.
func (p *proxy) pass(from, to net.Conn) {
	ctx, end := context.WithCancel(context.Background())
	way := make(chan piece, 1024)
	var writing sync.WaitGroup
	writing.Go(func() {
		defer end()
		for x := range way {
			time.Sleep(time.Until(x.due))
			if p.passes() {
				if _, err := to.Write(x.data); err != nil {
					return
				}
			}
		}
	})
	buffer := make([]byte, 64<<10)
	for ctx.Err() == nil {
		n, err := from.Read(buffer)
		if n > 0 {
			select {
			case way <- piece{data: append([]byte(nil), buffer[:n]...), due: time.Now().Add(p.delay())}:
			case <-ctx.Done():
			}
		}
		if err != nil {
			break
		}
	}
	close(way)
	writing.Wait()
	from.Close()
	to.Close()
}

func (p *proxy) passes() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.frozen
}

func (p *proxy) delay() time.Duration {
	if p.most <= p.least {
		return p.least
	}
	return p.least + rand.N(p.most-p.least)
}

// TestProxy: data takes its time, stays in order, and connections end when the proxy leads elsewhere.
func TestProxy(t *testing.T) {
	echo := func(greeting string) string {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for c, err := l.Accept(); err == nil; c, err = l.Accept() {
				go func() {
					io.WriteString(c, greeting)
					io.Copy(c, c)
					c.Close()
				}()
			}
		}()
		return l.Addr().String()
	}
	const least, most = 20 * time.Millisecond, 40 * time.Millisecond
	p := newProxy(t, echo("first "), least, most)
	dial := func(want string) net.Conn {
		t.Helper()
		c, err := net.Dial("tcp", p.addr())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		reads(t, c, want)
		return c
	}
	c := dial("first ")
	began := time.Now()
	for i := range 20 {
		io.WriteString(c, string(rune('a'+i)))
		time.Sleep(time.Millisecond)
	}
	reads(t, c, "abcdefghijklmnopqrst")
	if took := time.Since(began); took < 2*least {
		t.Errorf("there and back took %v", took)
	}
	p.lead(echo("second"))
	if n, err := c.Read(make([]byte, 1)); err == nil {
		t.Errorf("%d bytes from a connection that should have ended", n)
	}
	c = dial("second")
	p.freeze()
	io.WriteString(c, "lost")
	c.SetReadDeadline(time.Now().Add(4 * most))
	if n, err := c.Read(make([]byte, 1)); n > 0 {
		t.Errorf("frozen, and %d bytes arrive, %v", n, err)
	}
}

func reads(t *testing.T, c net.Conn, want string) {
	t.Helper()
	got := make([]byte, len(want))
	var err error
	await.Done(t, want, func() { _, err = io.ReadFull(c, got) })
	if err != nil || string(got) != want {
		t.Fatalf("read %q, %v; want %q", got, err, want)
	}
}
