//go:build linux

package loop

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loadctl/loadctl/targets"
)

// replySize is that of a client's reply to a server that asks for new keys: a record of TLS 1.3 with five bytes.
const replySize = 5 + 5 + 1 + 16

// A keyFlood is a server that asks for new keys in its answer, a batch at a time, and reads nothing.
type keyFlood struct {
	client chan net.Addr // of the connection
	batch  chan struct{} // asks for one; closed when there were enough
	asked  int           // for new keys
	chunks int           // of the answer
}

const keysInBatch = 100

func newKeyFlood() *keyFlood {
	return &keyFlood{client: make(chan net.Addr, 1), batch: make(chan struct{})}
}

// send sends the answer, except for its end, until there were enough batches.
func (k *keyFlood) send(t *testing.T, c *tls.Conn, s *sealer) *sealer {
	t.Helper()
	raw := c.NetConn()
	k.client <- raw.RemoteAddr()
	_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
	s.seq++ // past the record of tls
	for range k.batch {
		for range keysInBatch { // data between them, as many in a row are an error
			both := append(s.record(dataRecord, []byte("1\r\nx\r\n")), s.record(handshakeRecord, []byte{keyUpdate, 0, 0, 1, 1})...)
			_, _ = raw.Write(both)
			s = s.next(t)
		}
		k.asked += keysInBatch
	}
	return s
}

// fill lets a server ask until a reply of p finds no room.
func (k *keyFlood) fill(r *rig, cn *conn) {
	r.t.Helper()
	r.pollUntil("the answer has begun", func() bool { return cn.in > 0 })
	limitBuffer(r.t, <-k.client, 4096)
	// What is full for a moment may have room again when the server's system has taken over what was sent.
	full := func() bool {
		for began := time.Now(); len(cn.Sealed()) > 0 && time.Since(began) < 50*time.Millisecond; {
			r.poll(5 * time.Millisecond)
		}
		return len(cn.Sealed()) > 0
	}
	for head := cn.in; !full(); {
		k.batch <- struct{}{}
		k.chunks += keysInBatch
		r.pollUntil("a batch", func() bool { return cn.in >= head+6*k.chunks })
	}
	close(k.batch)
}

// Replies to a server that does not read wait, and leave when it reads, though nothing else happens then.
func TestRepliesWaitForRoom(t *testing.T) {
	k := newKeyFlood()
	over := make(chan error, 1)
	s := certify(t, time.Hour)
	spec := s.handmade(t, func(c *tls.Conn, s *sealer) {
		if !request(bufio.NewReader(c)) {
			return
		}
		s = k.send(t, c, s)
		raw := c.NetConn()
		n, err := io.ReadFull(raw, make([]byte, replySize*k.asked))
		if err != nil {
			err = fmt.Errorf("%d bytes of %d replies: %w", n, k.asked, err)
		}
		over <- err
		_, _ = raw.Write(s.record(dataRecord, []byte("0\r\n\r\n")))
	})
	r := newRig(t, spec, targets.Local{}, 1)
	r.mustSend()
	k.fill(r, r.c.conns[0])
	var err error
	r.pollUntil("the server has read", func() bool {
		select {
		case err = <-over:
			return true
		default:
			return false
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	r.pollFor(1)
	expect(t, r.got[0].Outcome, 200, "")
}

// A connection whose server does not read the replies it asked for carries no other request: that would wait behind them.
func TestUnreadRepliesEndAConnection(t *testing.T) {
	k := newKeyFlood()
	var connections atomic.Int32
	s := certify(t, time.Hour)
	spec := s.handmade(t, func(c *tls.Conn, s *sealer) {
		first := connections.Add(1) == 1
		if !request(bufio.NewReader(c)) {
			return
		}
		if !first {
			_, _ = io.WriteString(c, ok)
			return
		}
		s = k.send(t, c, s)
		_, _ = c.NetConn().Write(s.record(dataRecord, []byte("0\r\n\r\n")))
		<-t.Context().Done()
	})
	spec.Timeout = 30 * time.Second
	r := newRig(t, spec, targets.Local{}, 1)
	r.mustSend()
	k.fill(r, r.c.conns[0])
	r.pollFor(1)
	expect(t, r.got[0].Outcome, 200, "")
	expect(t, r.do(), 200, "")
	if n := connections.Load(); n != 2 {
		t.Errorf("%d connections", n)
	}
}
