package loop

import (
	"errors"
	"slices"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/http2"
)

// beginWaiting begins the streams of riders that wait, as many as the server allows.
func (c *Client) beginWaiting(p *place) {
	k := p.carrier
	for len(k.waiting) > 0 && !p.spent() && k.session.Room() > 0 {
		r := k.waiting[0]
		k.waiting = slices.Delete(k.waiting, 0, 1)
		c.beginStream(r)
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
	if c.tell(p); p.writeErr != nil {
		c.converse(p)
		return
	}
	c.endStreams(p, nil)                                                  // those who only had something to say
	if k := p.carrier; len(k.waiting) > 0 || k.riders == 0 && p.spent() { // there may be room for them now
		c.reply(p)
		return
	}
	c.relist(p)
}

// tell is speak without the consequences. After an error nothing more is written, but there may be something to read.
func (c *Client) tell(p *place) {
	k := p.carrier
	k.dirty, k.blocked = false, false
	for p.writeErr == nil {
		b, err := p.toWrite()
		if err == nil && len(b) == 0 {
			return
		}
		if err == nil {
			var n int
			if n, err = p.conn.send(b); err == nil {
				k.wrote += int64(n)
				p.written(n)
				continue
			}
			if blocked(err) {
				k.blocked = true
				return
			}
		}
		p.writeErr, p.readable = err, true
	}
}

// toWrite returns the next bytes for the socket. With TLS they are encrypted in parts, as for HTTP/1.1.
func (p *place) toWrite() ([]byte, error) {
	if p.secure == nil {
		return p.carrier.two.Output(), nil
	}
	s := p.stream
	if s.sent == len(s.out) {
		s.out, s.sent = s.out[:0], 0
		if plain := p.carrier.two.Output(); len(plain) > 0 {
			n, err := p.secure.Write(plain[:min(len(plain), sealAtOnce)])
			if err != nil {
				return nil, err
			}
			p.carrier.two.Wrote(n)
		}
	}
	return s.out[s.sent:], nil
}

// written notes that the peer took n bytes of toWrite.
func (p *place) written(n int) {
	if p.secure == nil {
		p.carrier.two.Wrote(n)
	} else {
		p.stream.sent += n
	}
}

// hearOf handles an event of a connection with riders, or without any for now.
func (c *Client) hearOf(p *place, what event) {
	k := p.carrier
	if k.blocked && what&canWrite != 0 {
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
			if bad := p.carrier.two.Feed(c.buf[:n]); bad != nil {
				c.tell(p) // why
				c.lose(p, bad)
				return
			}
			c.endStreams(p, nil)
		}
		switch {
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
	c.readOn(p)
	c.reply(p)
}

// readOn lets resume read on.
func (c *Client) readOn(p *place) {
	if !p.queued {
		p.queued = true
		c.unread = append(c.unread, p)
	}
}

// reply writes what the session has to say to what it heard.
func (c *Client) reply(p *place) {
	k := p.carrier
	say := func() {
		c.tell(p)
		c.endStreams(p, nil) // those who only had something to say
	}
	for say(); len(k.waiting) > 0 && !p.spent() && k.session.Room() > 0; say() {
		c.beginWaiting(p)
	}
	if p.writeErr != nil {
		c.readOn(p) // the end comes when nothing is left to read
	}
	c.review(p)
}

// review looks whether a connection has room, and closes one that both sides are done with. Riders that wait for such a one go
// elsewhere.
func (c *Client) review(p *place) {
	if !p.spent() {
		c.relist(p)
		return
	}
	k := p.carrier
	waiting := k.waiting
	k.waiting = nil
	if c.unlist(p); k.riders == 0 {
		c.part(p) // it makes room for them
	}
	for _, r := range waiting {
		c.move(r)
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
	k.two.Fail(err)
	c.endStreams(p, err)
	waiting := k.waiting
	if len(waiting) > 0 {
		p.hangUp() // without what TLS has yet to send: it may be a request that moves
	}
	c.close(p)
	for _, r := range waiting {
		c.move(r)
	}
}

// endStreams ends the requests that are over, and those whose streams have ended, or lets them wait for another connection.
// lost is the error of a connection that broke; nil if it goes on.
func (c *Client) endStreams(p *place, lost error) {
	k := p.carrier
	for s := k.two.Replied(); s != nil; s = k.two.Replied() {
		c.getOff(s, nil, lost)
		k.two.Keep(s)
	}
	for s := k.two.Ended(); s != nil; s = k.two.Ended() {
		r, err := s.Owner.(*place), s.Err()
		unsent := lost != nil && r.reused && k.wrote == r.rider.start || lost == nil && r.rider.resumed && s.Out() == 0
		unprocessed := errors.Is(err, http2.ErrUnprocessed) && !r.rider.moved && !r.rider.resumed
		if !unsent && !unprocessed {
			c.getOff(s, err, lost)
			continue
		}
		c.left(r)
		if !unsent {
			r.in, r.out = r.in+s.In(), r.out+s.Out()
		}
		r.rider.moved = r.rider.moved || unprocessed
		r.rider.begun = false
		k.waiting = append(k.waiting, r)
	}
}

// getOff ends the request of a stream. err is why there is no answer.
func (c *Client) getOff(s *http2.Stream, err, lost error) {
	r := s.Owner.(*place)
	c.left(r)
	k := r.rider.on.carrier
	r.in, r.out = r.in+s.In(), r.out+s.Out()
	k.served, k.last = true, k.last || r.wire.Close
	c.end(r, err, targets.ClassProtocol, lost == nil && !k.session.Leaving() && !r.wire.Close)
}
