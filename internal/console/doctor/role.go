package doctor

import (
	"context"
	"net"
)

// role checks for a master: runs are written. A replica may allow writes, but the master's next copy undoes them.
func role(ctx context.Context, s *server) Finding {
	text, err := s.field(ctx, "role")
	if mode, _ := s.field(ctx, "redis_mode"); mode == "sentinel" {
		return bad("sentinel", "give the address of the master that it watches")
	}
	if err != nil {
		return s.unclear(err)
	}
	if text == "master" {
		return ok(text)
	}
	mend := "give the address of the master"
	if host, port := s.info["master_host"], s.info["master_port"]; host != "" && port != "" {
		mend += ", " + net.JoinHostPort(host, port)
	}
	return bad("replica", mend)
}
