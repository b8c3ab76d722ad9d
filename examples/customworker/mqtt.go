package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/loadctl/loadctl/targets"
)

// Of MQTT 3.1.1 this is what a publisher needs: CONNECT, CONNACK, PUBLISH with QoS 1, PUBACK.

// The first bytes of packets.
const (
	packetConnect = 0x10
	packetConnack = 0x20
	packetPublish = 0x32 // QoS 1
	packetPuback  = 0x40
	retained      = 0x01
)

// A sender publishes, on connections that carry one message at a time.
type sender struct {
	retain bool
	idle   chan *conn
	closed atomic.Bool
}

// Do implements targets.Sender.
func (s *sender) Do(ctx context.Context, r targets.Request) (a targets.Answer) {
	var c *conn
	select {
	case c = <-s.idle:
	default:
		if s.closed.Load() {
			return targets.Answer{Err: net.ErrClosed}
		}
		if c, a.Err = dial(ctx, r); a.Err != nil {
			return a
		}
	}
	stop := context.AfterFunc(ctx, c.abort)
	a = c.publish(r, s.retain)
	switch {
	case !stop(): // a late answer would be taken for the next one
		c.Close()
		a.Err = errors.Join(a.Err, ctx.Err())
	case a.Err != nil:
		c.Close()
	default:
		s.keep(c)
	}
	return a
}

// keep keeps a connection for the next message.
func (s *sender) keep(c *conn) {
	select {
	case s.idle <- c:
	default:
		c.Close()
	}
	if s.closed.Load() {
		_ = s.Close()
	}
}

// Close implements targets.Sender.
func (s *sender) Close() error {
	s.closed.Store(true)
	for {
		select {
		case c := <-s.idle:
			c.Close()
		default:
			return nil
		}
	}
}

// A conn is a connection to a broker.
type conn struct {
	net.Conn
	in *bufio.Reader
	id uint16 // of the last message
}

// dial connects, and greets the broker.
func dial(ctx context.Context, r targets.Request) (*conn, error) {
	raw, err := new(net.Dialer).DialContext(ctx, r.Network, r.Address)
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: raw, in: bufio.NewReader(raw)}
	stop := context.AfterFunc(ctx, c.abort)
	err = c.greet(r.URL)
	if !stop() {
		err = ctx.Err()
	}
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("greet the broker: %w", err)
	}
	return c, nil
}

// abort ends what the connection waits for.
func (c *conn) abort() { _ = c.SetDeadline(time.Unix(1, 0)) }

// greet sends CONNECT with a clean session and the login of the URL, and reads CONNACK.
func (c *conn) greet(raw string) error {
	u, err := url.Parse(raw)
	if err != nil {
		return errors.New("the URL is not one")
	}
	const cleanSession, withPassword, withUser = 0x02, 0x40, 0x80
	flags, login := byte(cleanSession), []byte(nil)
	if u.User != nil {
		flags, login = flags|withUser, text(nil, u.User.Username())
		if password, given := u.User.Password(); given {
			flags, login = flags|withPassword, text(login, password)
		}
	}
	body := append(text(nil, "MQTT"), 4, flags, 0, 0) // version 3.1.1; the connection need not be kept alive
	body = append(text(body, ""), login...)           // the broker makes up a name
	if _, err := c.Write(packet(packetConnect, body)); err != nil {
		return err
	}
	answer, err := c.read(packetConnack)
	if err == nil && answer[3] != 0 {
		err = fmt.Errorf("the broker refuses the connection with code %d", answer[3])
	}
	return err
}

// publish sends a message, and reads its acknowledgement.
func (c *conn) publish(r targets.Request, retain bool) (a targets.Answer) {
	u, err := url.Parse(r.URL)
	if err != nil {
		return targets.Answer{Err: err}
	}
	c.id = max(1, c.id+1)
	kind := byte(packetPublish)
	if retain {
		kind |= retained
	}
	body := binary.BigEndian.AppendUint16(text(nil, strings.Trim(u.Path, "/")), c.id)
	n, err := c.Write(packet(kind, append(body, r.Body...)))
	if a.BytesOut = int64(n); err != nil {
		a.Err = err
		return a
	}
	if a.Body, a.Err = c.read(packetPuback); a.Err != nil {
		return a
	}
	if a.BytesIn = int64(len(a.Body)); binary.BigEndian.Uint16(a.Body[2:]) != c.id {
		a.Class, a.Err = targets.ClassProtocol, errors.New("the broker acknowledges another message")
	}
	return a
}

// errOther says that something came that is no answer.
var errOther = errors.New("the broker sends another packet than expected")

// read reads a packet of four bytes, which all answers have.
func (c *conn) read(kind byte) ([]byte, error) {
	b := make([]byte, 4)
	if _, err := io.ReadFull(c.in, b); err != nil {
		return nil, err
	}
	if b[0] != kind || b[1] != 2 {
		return nil, errOther
	}
	return b, nil
}

// packet puts a head before the rest of a packet: its kind, and its length, seven bits a byte.
func packet(kind byte, body []byte) []byte {
	return append(binary.AppendUvarint([]byte{kind}, uint64(len(body))), body...)
}

// text appends a text with its length.
func text(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint16(b, uint16(len(s))), s...)
}
