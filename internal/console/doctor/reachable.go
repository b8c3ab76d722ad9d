package doctor

import (
	"context"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/link"
)

// reachable checks that the server answers.
func reachable(ctx context.Context, s *server) Finding {
	if err := s.node.Ping(ctx).Err(); err != nil {
		s.silent = true
		return Unreachable(err)
	}
	switch one := s.node.(type) {
	case *link.Watched:
		return ok(one.Master() + ", the master " + one.Name)
	case *redis.Client:
		if s.node == s.whole {
			return ok(one.Options().Addr)
		}
	}
	return ok("answers") // the cluster check says who
}

// Unreachable returns the finding about a server without a connection. err comes from link.Connect or from the server.
func Unreachable(err error) Finding {
	wrong, _ := link.Remedy(err)
	return bad(strings.TrimSuffix(wrong, "; "+link.Hint), remedy(err, "start the server, or "+link.Hint)).of("reachable")
}
