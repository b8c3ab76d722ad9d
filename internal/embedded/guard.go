package embedded

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/alicebob/miniredis/v2/server"
)

// guard is what the library calls before each command, and does the command itself: one that the library cannot bring to its end, of which there
// are some, ends the connection and not the process.
//
// The command is given to the library a second time, and with it to guard, which then stands aside. One within a script is the script's affair:
// the library ends the script.
func (s *Server) guard(c *server.Peer, name string, args ...string) (done bool) {
	if _, inside := s.calls.LoadOrStore(c, nil); inside {
		return false
	}
	defer s.calls.Delete(c)
	if l := s.listener(c); l != nil {
		l.busy.Lock()
	}
	defer func() { // also of one that this very command has begun
		if l := s.listener(c); l != nil {
			l.busy.Unlock()
		}
	}()
	defer func() {
		reason := recover()
		if reason == nil {
			return
		}
		guards, locked := callers()
		if guards > 1 {
			panic(reason)
		}
		if locked {
			s.redis.Unlock()
		}
		c.WriteError(fmt.Sprintf("ERR %s: the embedded Redis cannot do this: %v", name, reason))
		c.Close()
		done = true
	}()
	if !s.subscribes(c, name, args) {
		s.server.Dispatch(c, append([]string{name}, args...))
	}
	return true
}

// callers tells how many commands the caller is within, which are more than one in a script, and whether the library has its lock and does not give
// it up by itself: that is so in withTx only, and there always but in a script.
func callers() (guards int, locked bool) {
	var stack [512]uintptr
	frames := runtime.CallersFrames(stack[:runtime.Callers(0, stack[:])])
	for more := true; more; {
		var frame runtime.Frame
		frame, more = frames.Next()
		switch {
		case strings.HasSuffix(frame.Function, "embedded.(*Server).guard"):
			guards++
		case strings.HasSuffix(frame.Function, "miniredis/v2.withTx"):
			locked = true
		}
	}
	return guards, locked
}
