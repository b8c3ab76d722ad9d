package embedded

import (
	"bufio"
	"bytes"
	"errors"
	"net"
	"strconv"
)

// What a command may consist of. A real server has the same limit of arguments; of bytes it allows 512 MB for each.
const (
	maxArguments = 1 << 20
	maxBytes     = 64 << 20 // of all arguments together
	maxLine      = 4 << 10  // the line before an argument is far shorter
)

// errRequest ends a connection: what follows cannot be understood.
var errRequest = errors.New("the request is not of the Redis protocol, or too long")

// requests is a connection to a client on which the server sees nothing but whole commands in the form that every client sends: arrays of
// strings, with an argument at least. The library takes for granted that there is one, and makes room for what is announced, whatever that is.
//
//	*2 CR LF $3 CR LF GET CR LF $1 CR LF x CR LF
type requests struct {
	net.Conn
	r         *bufio.Reader
	line      []byte // checked, to be read
	body      int    // bytes to come of an argument, with its CR LF
	arguments int    // to come of the command
	room      int    // bytes that they may have together
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

// next reads a line that announces something. A command without arguments asks for nothing, and is left out, as a real server does it.
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
