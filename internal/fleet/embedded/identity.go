package embedded

import (
	"strings"

	"github.com/alicebob/miniredis/v2/server"
)

// identifies answers INFO server with the run_id of this server, and reports whether it did. The library does not know
// that section. By the run_id a worker distinguishes its own Redis from one that it fires at.
func (s *Server) identifies(c *server.Peer, name string, sections []string) bool {
	if !strings.EqualFold(name, "info") || len(sections) != 1 || !strings.EqualFold(sections[0], "server") {
		return false
	}
	c.WriteBulk("# Server\r\nrun_id:" + s.id + "\r\n")
	return true
}
