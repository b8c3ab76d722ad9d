package link

import (
	"cmp"
	"context"
	"net"
	"syscall"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/mux"
)

// refusals makes each connection of a client an answering one.
type refusals struct{}

// DialHook implements redis.Hook.
func (refusals) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := next(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		// The client looks at a socket directly to see whether it was closed. It must not do so with TLS.
		if socket, ok := c.(syscall.Conn); ok {
			return struct {
				*answering
				syscall.Conn
			}{&answering{Conn: c}, socket}, nil
		}
		return &answering{Conn: c}, nil
	}
}

// ProcessHook implements redis.Hook.
func (refusals) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

// ProcessPipelineHook implements redis.Hook.
func (refusals) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// answering is a connection that one call uses at a time. A server without room for another client says so and closes it
// at once. The library takes that for the answer to its greeting, and fails in the next call. Then the reason is what the
// server said.
type answering struct {
	net.Conn
	refused error
}

// Read implements net.Conn.
func (c *answering) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.refused == nil {
		c.refused = mux.Refusal(p[:n])
	}
	return n, c.reason(err)
}

// Write implements net.Conn.
func (c *answering) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	return n, c.reason(err)
}

// reason returns why a call has failed; nil if it has not.
func (c *answering) reason(err error) error {
	if err == nil {
		return nil
	}
	return cmp.Or(c.refused, err)
}

// NetConn returns the connection below, where the client looks for a socket.
func (c *answering) NetConn() net.Conn { return c.Conn }
