package doctor

import (
	"context"
	"fmt"
)

// version checks the version: the scripts need 6.2. Valkey, KeyDB and Dragonfly report the version of Redis that they
// are compatible with.
func version(ctx context.Context, s *server) Finding {
	text, err := s.field(ctx, "redis_version")
	if err != nil {
		return s.unclear(err)
	}
	var major, minor int
	if _, err := fmt.Sscanf(text, "%d.%d", &major, &minor); err != nil {
		return ok("unknown, it says " + text)
	}
	if major < 6 || major == 6 && minor < 2 {
		return bad(text, "install Redis 6.2 or newer")
	}
	return ok(text)
}
