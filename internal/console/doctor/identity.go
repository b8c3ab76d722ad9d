package doctor

import (
	"context"
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"
)

// identity checks that scripts can read the identity of this server. By that they notice a failover or a restart.
func identity(ctx context.Context, s *server) Finding {
	text, err := s.node.Eval(ctx, "return redis.call('INFO', 'replication')", nil).Text()
	_, refused := errors.AsType[redis.Error](err)
	switch {
	case err == nil && strings.Contains(text, "master_replid:"):
		return ok("a failover or a restart would be noticed")
	case err != nil && !refused:
		return s.unclear(err)
	case err != nil && (strings.Contains(err.Error(), "NOPERM") || strings.Contains(err.Error(), "can't run")):
		return warn("scripts may not read the server's identity: a failover that loses the last moments would go unnoticed, and slots could be sent twice",
			remedy(err, "allow this user INFO"))
	}
	return ok("the server has none")
}
