// Package mux lets all connections of a Redis client to one server share one socket, which also carries the messages
// that the server publishes.
//
//	lines := mux.New(net.Dialer{}.DialContext)
//	defer lines.Close()
//	client := redis.NewClient(&redis.Options{Addr: addr, Dialer: lines.Dial, Protocol: 3})
//	err := client.Do(ctx, "subscribe", "news").Err()
//	<-lines.Wake()                // something was published, or may have been
//	payload := <-lines.Messages()
//
// The client needs no change: each of its connections is a stream, and one socket carries many streams. Whole requests
// leave in the order in which they are written, and replies come in the same order. So a call does not wait for the
// answer to another call, only for the bytes before its own.
//
// Guarantees:
//
//   - One socket in use for each address. If a caller gives up and closes its stream, no other stream ends with it, and
//     its replies are dropped.
//   - A socket that the server has closed ends all its streams at once. A socket on which a reply is overdue by more
//     than silence ends when a caller gives up.
//   - Messages come in order. None blocks the socket: a slow reader loses the oldest.
//
// Not for calls that change the connection (RESET, MONITOR, WATCH), nor for calls that block in the server (BLPOP).
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
	// silence is how long a reply may take. A server that is only slow keeps its sockets for that long, and later calls
	// use the same socket: so thousands of clients do not reconnect after a short pause of the server.
	silence = 500 * time.Millisecond
	// keptMessages bounds the messages that wait for their reader.
	keptMessages = 256
	// dialAgain is how long to wait for a connection before another one is opened beside it.
	dialAgain = 500 * time.Millisecond
	// firstPause and mostPause bound how long to wait before connecting again to a server that has refused a
	// connection.
	firstPause = 50 * time.Millisecond
	mostPause  = 4 * time.Second
)

// ErrRefused says that a server accepts no more connections.
var ErrRefused = errors.New("the server refuses connections")

// connector opens a socket.
type connector = func(ctx context.Context, network, addr string) (net.Conn, error)

// eager is connect for a network that loses packets. While a connection is not open, it opens another one beside it
// every dialAgain, until ctx ends: the kernel repeats a lost first packet only after 1, 3 and 7 s. The first one that
// opens or fails counts.
func eager(connect connector) connector {
	type result struct {
		socket net.Conn
		err    error
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		first := make(chan result)
		again := time.NewTicker(dialAgain)
		defer again.Stop()
		for {
			go func() {
				socket, err := connect(ctx, network, addr)
				select {
				case first <- result{socket, err}:
				case <-ctx.Done():
					if err == nil {
						_ = socket.Close() // another one was first
					}
				}
			}()
			select {
			case r := <-first:
				return r.socket, r.err
			case <-again.C:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
	}
}

// Dialer opens streams. Use its Dial as the dialer of a client.
type Dialer struct {
	connect  connector
	messages chan []byte
	wake     chan struct{}

	mu        sync.Mutex
	places    map[string]*place // by address
	trunks    map[*trunk]struct{}
	closed    bool
	confirmed *trunk // the last one on which a subscription was confirmed
	resp3     bool   // a server has answered in a way that only RESP3 has
}

// New returns a Dialer that opens sockets with connect.
func New(connect connector) *Dialer {
	return &Dialer{connect: eager(connect), places: map[string]*place{}, trunks: map[*trunk]struct{}{}, messages: make(chan []byte, keptMessages), wake: make(chan struct{}, 1)}
}

// place is one address and its socket.
type place struct {
	turn chan struct{} // the holder of its single element may connect

	trunk   *trunk         // nil = none yet
	refused error          // the last refusal
	again   time.Time      // do not connect before this time, after a refusal
	pause   outage.Backoff // between refusals
}

// Dial opens a stream to an address, over its existing socket or a new one.
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

// place returns the place of an address.
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

// open opens a new socket. After a refusal it waits for a while.
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

// runs starts reading from a socket, unless the Dialer was closed.
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

// Messages returns the channel of the payloads published in the subscribed channels, without empty ones. If more than
// 256 are unread, the oldest are dropped.
func (d *Dialer) Messages() <-chan []byte { return d.messages }

// Wake signals that something was published, or may have been: after a new subscription, earlier messages were missed.
func (d *Dialer) Wake() <-chan struct{} { return d.wake }

// RESP3 reports whether the sockets can carry messages: a server has agreed to that protocol.
func (d *Dialer) RESP3() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.resp3
}

// Lost is closed when the socket of the last confirmed subscription ends. Before the first one it is nil.
func (d *Dialer) Lost() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.confirmed == nil {
		return nil
	}
	return d.confirmed.done
}

// Close ends all sockets. From now on dialed streams fail.
func (d *Dialer) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	for t := range d.trunks {
		t.end(net.ErrClosed)
	}
	return nil
}

// deliver passes a message on. If its reader is slow, the oldest message is dropped.
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
	d.confirmed = t
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

// Refusal returns the error of a server without room for another client; nil = the reply is another one.
func Refusal(reply []byte) error {
	text, failed := strings.CutPrefix(string(reply[:min(len(reply), 200)]), "-")
	if !failed || !strings.Contains(text, "max number of clients") {
		return nil
	}
	return refused(strings.TrimSpace(text))
}

// refused is the error text of a server that accepts no more connections.
type refused string

// Error implements error.
func (r refused) Error() string { return string(r) }

// Is makes it an ErrRefused.
func (r refused) Is(target error) bool { return target == ErrRefused }
