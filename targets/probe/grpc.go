package probe

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/classes"
	"github.com/loadctl/loadctl/targets/grpc"
	"github.com/loadctl/loadctl/targets/http1"
	"github.com/loadctl/loadctl/targets/http2"
	"github.com/loadctl/loadctl/targets/wire"
)

// GRPC sends one encoded message to a method, and returns the last message of the answer and the status. It is for
// questions about a server, such as what it offers, and not for load. spec says how to connect, and its URL names the
// method; it has no descriptors. The error says why there was no answer.
func GRPC(ctx context.Context, s targets.Spec, local targets.Local, message []byte) (answer []byte, status int, err error) {
	d, err := newDialer(s, local)
	if err != nil {
		return nil, 0, err
	}
	w, err := wire.NewStep(s, local, d.secure)
	if err != nil {
		return nil, 0, err
	}
	to := w.Endpoint()
	to.Streams = 0 // one goroutine is enough
	ctx, cancel := context.WithTimeout(ctx, s.EffectiveTimeout())
	defer cancel()
	c, err := d.dial(ctx, to)
	if err != nil {
		return nil, 0, err
	}
	defer c.Close()
	whole, err := grpc.AppendMessage(first(w), func(b []byte) ([]byte, error) { return append(b, message...), nil })
	if err != nil {
		return nil, 0, err
	}
	var r http2.Request
	if err := w.Encode(&r, whole); err != nil {
		return nil, 0, err
	}
	stream, err := c.converse(&r, http1.Limits{Body: s.EffectiveBodyLimit(), Content: int(s.EffectiveBodyLimit()), Fields: true, Messages: true})
	if err != nil {
		return nil, 0, fmt.Errorf("ask %s: %w", to.Address, err)
	}
	a := grpc.NewAnswer(stream, nil)
	if errors.Is(stream.Err(), http1.ErrBody) {
		return nil, 0, fmt.Errorf("ask %s: the answer has more than %d MiB", to.Address, s.EffectiveBodyLimit()>>20)
	}
	if stream.Err() != nil || a.Err() != nil {
		return nil, 0, fmt.Errorf("ask %s: it speaks HTTP/2, but not gRPC", to.Address)
	}
	return a.Content(), a.Status(), nil
}

// converse sends one request of HTTP/2 on a connection, whose deadline is set, and reads the answer.
func (p *conn) converse(r *http2.Request, l http1.Limits) (*http2.Stream, error) {
	h, s, buf := http2.NewConn(http1.Limits{}), new(http2.Stream), make([]byte, wire.ReadBuffer)
	h.Open(s, r, l)
	for h.Ended() == nil {
		for out := h.Output(); len(out) > 0; out = h.Output() {
			n, err := p.Write(out)
			if h.Wrote(n); err != nil {
				return nil, err
			}
		}
		n, err := p.Read(buf)
		if failed := h.Feed(buf[:n]); failed != nil || errors.Is(err, io.EOF) && !h.Greeted() {
			return nil, wire.ErrNoHTTP2
		}
		if err != nil {
			h.Fail(err)
		}
	}
	if err := s.Err(); err != nil && classes.Of(err, targets.ClassProtocol) != targets.ClassProtocol {
		return nil, err
	}
	return s, nil
}
