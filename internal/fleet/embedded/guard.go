package embedded

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/alicebob/miniredis/v2/server"
)

// guard is called by the library before each command, and executes the command itself. Some commands make the library
// panic; then only the connection ends, not the process.
//
// guard gives the command to the library a second time, which calls guard again; that call returns at once. For a
// command within a script guard does nothing: the library ends the script.
func (s *Server) guard(c *server.Peer, name string, args ...string) (done bool) {
	if _, inside := s.calls.LoadOrStore(c, nil); inside {
		return false
	}
	defer s.calls.Delete(c)
	if s.client(c) {
		s.age(tick) // a late tick must not shorten a lifetime that this command sets
	}
	if l := s.listener(c); l != nil {
		l.busy.Lock()
	}
	defer func() { // also for a listener that this very command has started
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
	if !s.identifies(c, name, args) && !s.subscribes(c, name, args) {
		s.server.Dispatch(c, append([]string{name}, args...))
	}
	return true
}

// client reports whether c is a connection. The library makes another Peer for each command of a script, while it holds
// its lock. Such a Peer has a context before its first command.
func (s *Server) client(c *server.Peer) bool {
	_, known := s.clients.Load(c)
	if known || c.Ctx != nil {
		return known
	}
	s.clients.Store(c, nil)
	c.OnDisconnect(func() { s.clients.Delete(c) })
	return true
}

// callers returns how many commands the caller is within (more than one in a script), and whether the library holds its
// lock and does not release it by itself. That is so only in withTx, and there always except in a script.
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
