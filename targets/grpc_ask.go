package targets

import (
	"context"
	"fmt"

	"github.com/loadctl/loadctl/targets/grpc"
	"github.com/loadctl/loadctl/targets/http2"
)

// AskGRPC sends one encoded message to a method, and returns the last message of the answer and the status. It is for
// questions about a server, such as what it offers, and not for load. spec says how to connect, and its URL names the
// method; it has no descriptors. The error says that there was no answer.
func AskGRPC(ctx context.Context, s Spec, local Local, message []byte) (answer []byte, status int, err error) {
	_, u, err := s.kind()
	if err != nil {
		return nil, 0, err
	}
	m, err := newMessage(s, u, endpoint{}, literally, nil)
	if err != nil {
		return nil, 0, err
	}
	if m.wire, err = grpc.AppendMessage(m.wire, func(b []byte) ([]byte, error) { return append(b, message...), nil }); err != nil {
		return nil, 0, err
	}
	connections, err := newPool(s, local)
	if err != nil {
		return nil, 0, err
	}
	t, err := openGRPC(s, m, local, connections)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = t.Close() }()
	t.expect.limits.Content = int(t.expect.limits.Body)
	c := &grpcCall{stream: http2.Stream{}}
	out := t.do(ctx, Call{}, c)
	if out.Status == 0 {
		return nil, 0, fmt.Errorf("%s cannot be asked: %s", t.to.address, out.Class)
	}
	return c.stream.Content(), out.Status, nil
}
