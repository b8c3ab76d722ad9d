package embedded

import (
	"bufio"
	"bytes"
	"errors"
	"net"
	"strconv"
)

// Limits of a command. A real server has the same limit of arguments; it allows 512 MB for each.
const (
	maxArguments = 1 << 20
	maxBytes     = 64 << 20 // of all arguments together
	maxLine      = 4 << 10  // the line before an argument is much shorter
)

// errRequest ends a connection, because what follows cannot be parsed.
var errRequest = errors.New("the request is not of the Redis protocol, or too long")

// requests is a connection to a client on which the server sees only whole commands in the form that every client
// sends: arrays of one or more strings. The library assumes one string at least, and allocates whatever size is
// announced.
//
//	*2 CR LF $3 CR LF GET CR LF $1 CR LF x CR LF
type requests struct {
	net.Conn
	r         *bufio.Reader
	line      []byte // checked, to be read
	body      int    // bytes of an argument still to come, with its CR LF
	arguments int    // arguments of the command still to come
	room      int    // bytes that these may have together
}

func newRequests(c net.Conn) *requests {
	return &requests{Conn: c, r: bufio.NewReaderSize(c, maxLine)}
}

// Read implements net.Conn.
func (c *requests) Read(p []byte) (n int, err error) {
	for len(c.line) == 0 && c.body == 0 {
		if err := c.next(); err != nil {
			return 0, err
		}
	}
	if len(c.line) > 0 {
		n = copy(p, c.line)
		c.line = c.line[n:]
		return n, nil
	}
	n, err = c.r.Read(p[:min(len(p), c.body)])
	c.body -= n
	return n, err
}

// next reads a line with a count. It skips a command without arguments, as a real server does.
func (c *requests) next() error {
	line, err := c.r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		return errRequest
	}
	if err != nil {
		return err
	}
	text, whole := bytes.CutSuffix(line, []byte("\r\n"))
	if !whole || len(text) < 2 {
		return errRequest
	}
	n, err := strconv.Atoi(string(text[1:]))
	switch {
	case err != nil:
		return errRequest
	case text[0] == '*' && c.arguments == 0 && n <= 0:
		return nil
	case text[0] == '*' && c.arguments == 0 && n <= maxArguments:
		c.arguments, c.room = n, maxBytes
	case text[0] == '$' && c.arguments > 0 && n >= 0 && n <= c.room:
		c.arguments, c.room, c.body = c.arguments-1, c.room-n, n+len("\r\n")
	default:
		return errRequest
	}
	c.line = line
	return nil
}
