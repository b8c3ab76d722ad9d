// Package mux lets all connections of a Redis client to one server share one socket, and the messages that the server publishes come on it too.
//
//	lines := mux.New(net.Dialer{}.DialContext)
//	defer lines.Close()
//	client := redis.NewClient(&redis.Options{Addr: addr, Dialer: lines.Dial, Protocol: 3})
//	err := client.Do(ctx, "subscribe", "news").Err()
//	<-lines.Wake()                // something was published, or may have been
//	payload := <-lines.Messages()
//
// The client needs no change: what it takes for a connection is a stream, of which a socket carries many. Requests leave in the order in which they
// are written, whole, and replies come in this order. So a call waits for no answer to another call, only for the bytes before its own.
//
// Guaranteed:
//   - One socket for each address. A stream that is closed, because its caller gave up, takes no other stream with it, and its replies are dropped.
//   - A socket that a server has closed ends all its streams at once. One on which a reply has been due for longer than silence ends when a caller gives up.
//   - Messages come in their order. None blocks the socket: a slow reader loses the oldest.
//
// Not for calls that change what the connection is (RESET, MONITOR, WATCH), nor for those that block in the server (BLPOP).
package mux

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/loadctl/loadctl/internal/outage"
)

const (
	// silence is how long a reply may be due. A server that is only slow keeps its sockets up to then, and answers those who ask once more on
	// the same one: thousands of clients do not connect anew because it stood still for a moment.
	silence = 500 * time.Millisecond
	// keptMessages is how many messages wait for their reader at most.
	keptMessages = 256
	// How long to wait before connecting again to a server that has refused a connection.
	firstPause = 50 * time.Millisecond
	mostPause  = 4 * time.Second
)

// ErrRefused is a server that takes no more connections.
var ErrRefused = errors.New("the server refuses connections")

// connector opens a socket.
type connector = func(ctx context.Context, network, addr string) (net.Conn, error)

// Dialer opens streams. Its Dial is what a client takes as its dialer.
type Dialer struct {
	connect  connector
	messages chan []byte
	wake     chan struct{}

	mu     sync.Mutex
	places map[string]*place // by address
	trunks map[*trunk]struct{}
	closed bool
	heard  *trunk // the last one on which a subscription was confirmed
	resp3  bool   // a server has answered as only RESP3 does
}

// New is a Dialer that opens sockets with connect.
func New(connect connector) *Dialer {
	return &Dialer{connect: connect, places: map[string]*place{}, trunks: map[*trunk]struct{}{}, messages: make(chan []byte, keptMessages), wake: make(chan struct{}, 1)}
}

// place is one address, and its socket.
type place struct {
	turn chan struct{} // whoever has put something in may connect

	trunk   *trunk         // nil = none yet
	refused error          // why the last one was
	again   time.Time      // no sooner, after a refusal
	pause   outage.Backoff // between refusals
}

// Dial opens a stream to an address, over the socket to it that there is, or over a new one.
func (d *Dialer) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	p, err := d.place(addr)
	if err != nil {
		return nil, err
	}
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if p.trunk == nil || p.trunk.over() != nil {
		if err := p.open(ctx, d, network, addr); err != nil {
			return nil, err
		}
	}
	return p.trunk.stream(), nil
}

// place is where an address is kept.
func (d *Dialer) place(addr string) (*place, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, net.ErrClosed
	}
	if d.places[addr] == nil {
		d.places[addr] = &place{turn: make(chan struct{}, 1), pause: outage.Backoff{First: firstPause, Most: mostPause}}
	}
	return d.places[addr], nil
}

// open makes a new socket. A server that has just refused one is left alone for a while.
func (p *place) open(ctx context.Context, d *Dialer, network, addr string) error {
	if p.trunk != nil {
		if err := p.trunk.over(); errors.Is(err, ErrRefused) {
			p.refused, p.again = err, time.Now().Add(p.pause.Next())
		} else {
			p.refused = nil
			p.pause.Reset()
		}
		p.trunk = nil
	}
	if p.refused != nil && time.Now().Before(p.again) {
		return p.refused
	}
	socket, err := d.connect(ctx, network, addr)
	if err != nil {
		return err
	}
	p.trunk = newTrunk(d, socket)
	if !d.runs(p.trunk) {
		return net.ErrClosed
	}
	return nil
}

// runs begins to read from a socket, unless the Dialer was closed meanwhile.
func (d *Dialer) runs(t *trunk) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		t.end(net.ErrClosed)
		return false
	}
	d.trunks[t] = struct{}{}
	go func() {
		t.read()
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.trunks, t)
	}()
	return true
}

// Messages are the payloads of what is published in the channels that were subscribed to, apart from those without any. Of more than 256 that nobody has
// read the newest are kept.
func (d *Dialer) Messages() <-chan []byte { return d.messages }

// Wake tells that something was published, or may have been: a subscription has just come into force, and what was published before was missed.
func (d *Dialer) Wake() <-chan struct{} { return d.wake }

// RESP3 tells whether messages can come on the sockets of calls: a server has agreed to the protocol that has them.
func (d *Dialer) RESP3() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.resp3
}

// Lost is closed when the socket ends on which a subscription was confirmed last. Before the first one it is nil.
func (d *Dialer) Lost() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.heard == nil {
		return nil
	}
	return d.heard.done
}

// Close ends all sockets. What was dialed fails from now on.
func (d *Dialer) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	for t := range d.trunks {
		t.end(net.ErrClosed)
	}
	return nil
}

// deliver hands a message on. Where its reader is slow the oldest one goes.
func (d *Dialer) deliver(payload []byte) {
	d.mu.Lock() // sockets of several nodes may have messages
	defer d.mu.Unlock()
	d.hint()
	for len(payload) > 0 {
		select {
		case d.messages <- payload:
			return
		default:
		}
		select {
		case <-d.messages:
		default:
		}
	}
}

// subscribed notes that a subscription is in force on a socket.
func (d *Dialer) subscribed(t *trunk) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.heard = t
	d.hint()
}

func (d *Dialer) hint() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// understood notes that a server speaks RESP3.
func (d *Dialer) understood() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.resp3 = true
}

// refusal is the error of a server that has no room for another client; nil = it says something else.
func refusal(reply []byte) error {
	text, failed := strings.CutPrefix(string(reply[:min(len(reply), 200)]), "-")
	if !failed || !strings.Contains(text, "max number of clients") {
		return nil
	}
	return refused(strings.TrimSpace(text))
}

// refused is what a server says that takes no more connections.
type refused string

// Error implements error.
func (r refused) Error() string { return string(r) }

// Is makes it an ErrRefused.
func (r refused) Is(target error) bool { return target == ErrRefused }
