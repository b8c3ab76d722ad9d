package targets

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/loadctl/loadctl/targets/grpc"
	"github.com/loadctl/loadctl/targets/http1"
	"github.com/loadctl/loadctl/targets/http2"
)

// AskGRPC sends one encoded message to a method, and returns the last message of the answer and the status. It is for
// questions about a server, such as what it offers, and not for load. spec says how to connect, and its URL names the
// method; it has no descriptors. The error says why there was no answer.
func AskGRPC(ctx context.Context, s Spec, local Local, message []byte) (answer []byte, status int, err error) {
	_, u, err := s.kind()
	if err != nil {
		return nil, 0, err
	}
	by, err := parseRoutes(s.ConnectTo)
	if err != nil {
		return nil, 0, err
	}
	to := s.endpoint(u, by)
	to.streams = 0 // one goroutine is enough
	m, err := newMessage(s, u, to, literally, nil)
	if err != nil {
		return nil, 0, err
	}
	d, err := newDialer(s, local)
	if err != nil {
		return nil, 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout())
	defer cancel()
	c, err := d.dial(ctx, to)
	if err != nil {
		return nil, 0, err
	}
	defer c.Close()
	whole, err := grpc.AppendMessage(m.wire, func(b []byte) ([]byte, error) { return append(b, message...), nil })
	if err != nil {
		return nil, 0, err
	}
	var r http2.Request
	if err := r.Encode(m.scheme(), whole); err != nil {
		return nil, 0, err
	}
	stream, err := c.converse(&r, http1.Limits{Body: s.bodyLimit(), Content: int(s.bodyLimit()), Fields: true, Messages: true})
	if err != nil {
		return nil, 0, fmt.Errorf("ask %s: %w", to.address, err)
	}
	a := grpc.NewAnswer(stream, nil)
	if errors.Is(stream.Err(), http1.ErrBody) {
		return nil, 0, fmt.Errorf("ask %s: the answer has more than %d MiB", to.address, s.bodyLimit()>>20)
	}
	if stream.Err() != nil || a.Err() != nil {
		return nil, 0, fmt.Errorf("ask %s: it speaks HTTP/2, but not gRPC", to.address)
	}
	return a.Content(), a.Status(), nil
}

// converse sends one request of HTTP/2 on a connection, whose deadline is set, and reads the answer.
func (p *probe) converse(r *http2.Request, l http1.Limits) (*http2.Stream, error) {
	h, s, buf := http2.NewConn(http1.Limits{}), new(http2.Stream), make([]byte, readBuffer)
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
			return nil, ErrNoHTTP2
		}
		if err != nil {
			h.Fail(err)
		}
	}
	if err := s.Err(); err != nil && classify(err, ClassProtocol) != ClassProtocol {
		return nil, err
	}
	return s, nil
}
