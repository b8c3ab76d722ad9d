//go:build linux

package epoll

import (
	"errors"
	"io"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/http2"
)

// boardWaiting begins the streams of riders that wait, as many as the server allows.
func (c *Client) boardWaiting(p *place) {
	k := p.carrier
	for len(k.waiting) > 0 && !k.spent(p.wire) && k.session.Room() > 0 {
		r := k.waiting[0]
		k.waiting = slices.Delete(k.waiting, 0, 1)
		c.board(r)
	}
}

// speakAll writes what was begun since the last Poll: the requests of a connection leave together.
func (c *Client) speakAll() {
	for i := 0; i < len(c.unsent); i++ { // it may grow: riders move
		if p := c.unsent[i]; p.carrier != nil && p.carrier.dirty {
			c.speak(p)
		}
	}
	c.unsent = c.unsent[:0]
}

// speak writes what there is to say, as far as the peer takes it. If it takes nothing any more, what it has said in the
// meantime counts, and then the connection ends.
func (c *Client) speak(p *place) {
	if err := c.tell(p); err != nil {
		p.writeErr, p.readable = err, true
		c.converse(p)
		return
	}
	c.alight(p, nil)                                                            // those who only had something to say
	if k := p.carrier; len(k.waiting) > 0 || k.riders == 0 && k.spent(p.wire) { // there may be room for them now
		c.reply(p)
		return
	}
	c.relist(p)
}

// tell is speak without the consequences.
func (c *Client) tell(p *place) error {
	k := p.carrier
	k.dirty, k.blocked = false, false
	for {
		b, err := p.toWrite()
		if err != nil || len(b) == 0 {
			return err
		}
		switch n, errno := send(p.fd, b); errno {
		case 0:
			k.wrote += int64(n)
			p.written(n)
		case unix.EINTR:
		case unix.EAGAIN:
			k.blocked = true
			return nil
		default:
			return errno
		}
	}
}

// toWrite returns the next bytes for the socket. With TLS they are encrypted in parts, as for HTTP/1.1.
func (p *place) toWrite() ([]byte, error) {
	if p.secure == nil {
		return p.carrier.session.Output(), nil
	}
	s := p.stream
	if s.sent == len(s.out) {
		s.out, s.sent = s.out[:0], 0
		if plain := p.carrier.session.Output(); len(plain) > 0 {
			n, err := p.secure.Write(plain[:min(len(plain), sealAtOnce)])
			if err != nil {
				return nil, err
			}
			p.carrier.session.Wrote(n)
		}
	}
	return s.out[s.sent:], nil
}

// written notes that the peer took n bytes of toWrite.
func (p *place) written(n int) {
	if p.secure == nil {
		p.carrier.session.Wrote(n)
	} else {
		p.stream.sent += n
	}
}

// hearOf handles an event of a connection with riders, or without any for now.
func (c *Client) hearOf(p *place, events uint32) {
	k := p.carrier
	if k.blocked && events&unix.EPOLLOUT != 0 {
		c.speak(p)
	}
	if p.carrier == k && p.readable && !p.queued {
		c.converse(p)
	}
}

// converse reads what has arrived, and answers it.
func (c *Client) converse(p *place) {
	k := p.carrier
	for range readsInARow {
		n, err := c.hear(p)
		if n > 0 {
			k.heard += int64(n)
			if bad := p.carrier.session.Feed(c.buf[:n]); bad != nil {
				_ = c.tell(p) // why
				c.lose(p, bad)
				return
			}
			c.alight(p, nil)
		}
		switch {
		case p.carrier != k: // it was closed
			return
		case err == nil:
			continue
		case !blocked(err):
			c.lose(p, err)
		case p.writeErr != nil:
			c.lose(p, p.writeErr)
		default:
			c.reply(p)
		}
		return
	}
	c.reply(p)
	if p.carrier == k && !p.queued {
		p.queued = true
		c.unread = append(c.unread, p)
	}
}

// reply writes what the session has to say to what it heard, and closes a connection that both sides are done with.
func (c *Client) reply(p *place) {
	k := p.carrier
	c.boardWaiting(p)
	if err := c.tell(p); err != nil {
		c.lose(p, err)
		return
	}
	c.alight(p, nil)
	spent, waiting := k.spent(p.wire), k.waiting
	if spent {
		k.waiting = nil // they have to go elsewhere
	}
	c.relist(p)
	if k.riders == 0 && spent {
		c.part(p)
	}
	if spent {
		for _, r := range waiting {
			c.move(r, io.EOF)
		}
	}
}

// hear reads into the shared buffer. The error is wouldBlock if there is nothing more to read for now.
func (c *Client) hear(p *place) (int, error) {
	if p.secure != nil {
		return p.secure.Read(c.buf)
	}
	return p.receive(c.buf)
}

// lose ends a connection that broke, and all requests on it. Those of which the peer took nothing go elsewhere.
func (c *Client) lose(p *place, err error) {
	k := p.carrier
	c.unlist(p)
	k.session.Fail(err)
	c.alight(p, err)
	waiting := k.waiting
	k.waiting = nil
	c.close(p)
	for _, r := range waiting {
		c.move(r, err)
	}
}

// alight ends the requests that are over, and those whose streams have ended. lost is the error of a connection that broke;
// nil if it goes on.
func (c *Client) alight(p *place, lost error) {
	k := p.carrier
	for s := k.session.Replied(); s != nil; s = k.session.Replied() {
		c.getOff(p, s, nil, lost)
		k.session.Keep(s)
	}
	for s := k.session.Ended(); s != nil; s = k.session.Ended() {
		r := s.Owner.(*place)
		err := s.Err()
		switch {
		case lost != nil && r.reused && k.wrote == r.rider.start, lost == nil && r.rider.resumed && s.Out() == 0:
			c.freeSeat(p)
			r.rider.begun = false
			k.waiting = append(k.waiting, r)
		case errors.Is(err, http2.ErrUnprocessed) && !r.rider.moved && !r.rider.resumed:
			c.freeSeat(p)
			c.unlist(p) // it must not go on with this one
			c.move(r, err)
		default:
			c.getOff(p, s, err, lost)
		}
	}
}

// freeSeat notes that a rider has left a connection.
func (c *Client) freeSeat(p *place) {
	if p.carrier.riders--; p.carrier.riders == 0 {
		p.idleSince = c.clock.Now()
	}
}

// getOff ends the request of a stream. err is why there is no answer.
func (c *Client) getOff(p *place, s *http2.Stream, err, lost error) {
	k, r := p.carrier, s.Owner.(*place)
	c.freeSeat(p)
	k.served = true
	r.in, r.out = s.In(), s.Out()
	c.end(r, err, targets.ClassProtocol, lost == nil && !k.session.Leaving() && !p.wire.Close)
}

// move puts a rider on another connection, as its own did not begin to send it, or as the server said that it did not
// process it (RFC 9113, section 6.8). The request was begun, so Send cannot refuse it any more: without room it fails.
func (c *Client) move(r *place, err error) {
	r.rider.moved, r.rider.begun = errors.Is(err, http2.ErrUnprocessed), false
	on := c.boardable(c.clock.Now(), r.host, r.wire)
	if on == nil {
		c.held = false
		c.end(r, err, targets.ClassReset, true)
		return
	}
	c.embark(r, on)
}
