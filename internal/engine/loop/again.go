package loop

import (
	"errors"

	"github.com/loadctl/loadctl/targets/http2"
	"github.com/loadctl/loadctl/targets/wire"
)

// The rules on which request is written again, and which request follows an answer. Each protocol says itself whether a byte
// was written (intact). A request whose first byte was written
// is written again in one case only: a server of HTTP/2 or HTTP/3 said that it did not process it.

// unreached reports whether the request of a conn reached nobody: the server had closed a connection that served others
// before, and no byte was written. Then it goes to another connection.
func (cn *conn) unreached() bool { return !cn.begun && cn.reused }

// moves reports whether the request of a stream goes to another connection, and whether nothing of it was written there.
// err is how its stream ended. intact reports whether no byte was written on a connection that broke or closes.
func (cn *conn) moves(err error, intact bool) (moves, unwritten bool) {
	unprocessed := errors.Is(err, http2.ErrUnprocessed) && !cn.stream.moved && !cn.stream.resumed
	if !intact && !unprocessed {
		return false, false
	}
	cn.stream.moved = cn.stream.moved || unprocessed
	cn.stream.begun = false
	return true, intact
}

// next returns the request that follows an answer instead of the end of its own, and where it goes; nil if there is none.
// err is why there is no whole answer. A rule that asks again because of an answer belongs here. The request must have been
// filled for that: see wire.Filled.
func (c *Client) next(cn *conn, err error) (*wire.Wire, *host) {
	return c.redirected(cn, err)
}
