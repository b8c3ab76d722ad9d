package ws

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/loadctl/loadctl/targets"
)

// Refused notes the answer to a handshake that opened no WebSocket.
func Refused(err error, out *targets.Outcome) {
	if e, ok := errors.AsType[upgradeError](err); ok {
		out.Status = e.status
		out.BytesIn, out.BytesOut = out.BytesIn+e.in, out.BytesOut+e.out
	}
}

// ErrNoWebSocket says that a server answers a handshake, and opens no WebSocket.
var ErrNoWebSocket = errors.New("the server opens no WebSocket")

// An upgradeError is such an answer. It is ErrNoWebSocket.
type upgradeError struct {
	status  int // not 101; 0 if what is wrong
	what    string
	in, out int64
}

func (e upgradeError) Error() string {
	if e.status == 0 {
		return e.what
	}
	text := "the server answers " + strconv.Itoa(e.status)
	if name := http.StatusText(e.status); name != "" {
		text += " " + name
	}
	return text
}

// Is implements the interface of errors.Is.
func (e upgradeError) Is(target error) bool { return target == ErrNoWebSocket }

// Class implements classified.
func (e upgradeError) Class() string {
	if e.status == 0 {
		return targets.ClassProtocol
	}
	return targets.ClassStatus
}
