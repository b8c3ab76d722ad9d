package link

import (
	"context"
	"crypto/tls"
	"errors"
	"maps"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"
)

const (
	askPatience = 2 * time.Second // how long all Sentinels together may take to name the master
	askEvery    = time.Second     // how often they are asked without a reason, as an event may be lost
)

// dialer connects to an address.
type dialer func(ctx context.Context, network, addr string) (net.Conn, error)

// A watch keeps all connections of a client at the master that most of its Sentinels name.
type watch struct {
	name      string
	sentinels []Sentinel
	connect   dialer
	end       func()
	all       sync.WaitGroup
	changed   chan struct{} // a Sentinel has published a change

	mu     sync.Mutex
	master string                // where connections go; "" = not known yet
	open   map[net.Conn]struct{} // to the master
}

func newWatch(name string, sentinels []Sentinel, connect dialer) *watch {
	ctx, end := context.WithCancel(context.Background())
	w := &watch{name: name, sentinels: sentinels, connect: connect, end: end, changed: make(chan struct{}, 1), open: map[net.Conn]struct{}{}}
	for _, s := range sentinels {
		w.all.Go(func() { w.follow(ctx, s) })
	}
	w.all.Go(func() { w.look(ctx) })
	return w
}

// follow passes on what a Sentinel publishes, and that it answers again.
func (w *watch) follow(ctx context.Context, s Sentinel) {
	w.all.Go(func() { listen(ctx, s.lines, s.subscribe) })
	for {
		select {
		case <-s.lines.Wake():
			select {
			case w.changed <- struct{}{}:
			default:
			}
		case <-ctx.Done():
			return
		}
	}
}

// look follows the Sentinels, once a second and at each change. If none answers, all stays as it is.
func (w *watch) look(ctx context.Context) {
	again := time.NewTicker(askEvery)
	defer again.Stop()
	for {
		select {
		case <-w.changed:
		case <-again.C:
		case <-ctx.Done():
			return
		}
		if w.leader() != "" { // else nobody has connected yet
			_, _ = w.locate(ctx)
		}
	}
}

// leader returns where connections go.
func (w *watch) leader() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.master
}

// locate asks for the master, and closes connections to other servers. The address counts that more than half of the
// Sentinels name. If some do not answer, it is the one that most of the others name.
func (w *watch) locate(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	type answer struct {
		addr string
		err  error
	}
	answers := make(chan answer, len(w.sentinels))
	for _, s := range w.sentinels {
		go func() {
			addr, err := askSentinel(ctx, s, w.name)
			answers <- answer{addr, err}
		}()
	}
	votes := map[string]int{}
	var errs []error
	for range w.sentinels {
		a := <-answers
		if a.err != nil {
			errs = append(errs, a.err)
			continue
		}
		votes[a.addr]++
		if 2*votes[a.addr] > len(w.sentinels) {
			break // the others cannot outvote it
		}
	}
	best := elected(votes, w.leader())
	if best == "" {
		return "", clearest(errs)
	}
	w.lead(best)
	return best, nil
}

// elected returns the address with most votes. At a tie it is the present one, so that nobody moves while the
// Sentinels disagree. Else it is the first by name, so that all clients choose the same. Without votes it is "".
func elected(votes map[string]int, now string) (best string) {
	for _, addr := range slices.Sorted(maps.Keys(votes)) {
		if n := votes[addr]; n > votes[best] || n == votes[best] && addr == now {
			best = addr
		}
	}
	return best
}

// lead makes addr the master, and closes the connections to another one.
func (w *watch) lead(addr string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if addr == w.master {
		return
	}
	w.master = addr
	for c := range w.open {
		_ = c.Close()
	}
	clear(w.open)
}

// dial connects to the master, whatever address it is given.
func (w *watch) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	addr, err := w.locate(ctx)
	if err != nil {
		return nil, err
	}
	c, err := w.connect(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if addr != w.master {
		_ = c.Close()
		return nil, errors.New("the master has changed")
	}
	maps.DeleteFunc(w.open, func(c net.Conn, _ struct{}) bool { return hungUp(c) })
	w.open[c] = struct{}{}
	return c, nil
}

// hungUp reports whether the client has closed a connection, which the client does not say.
func hungUp(c net.Conn) bool {
	if t, secret := c.(*tls.Conn); secret {
		c = t.NetConn()
	}
	s, ok := c.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := s.SyscallConn()
	return err != nil || raw.Control(func(uintptr) {}) != nil
}
