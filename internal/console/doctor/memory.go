package doctor

import (
	"context"
	"fmt"
	"strconv"
)

const fullMemory = 0.9 // of maxmemory

// eviction checks the eviction policy: the data of a run has a lifetime, so a server may evict it under every policy
// but one.
func eviction(ctx context.Context, s *server) Finding {
	limit, err := s.bytes(ctx, "maxmemory")
	if err != nil {
		return s.unclear(err)
	}
	if limit == 0 {
		return ok("none, memory has no limit")
	}
	policy, err := s.either(ctx, "maxmemory-policy")
	if err != nil {
		return s.unclear(err)
	}
	if policy != "noeviction" {
		return bad(fmt.Sprintf("%s at %s: Redis may evict the data of a run", policy, megabytes(limit)), "redis-cli CONFIG SET maxmemory-policy noeviction")
	}
	return ok(policy)
}

// memory checks the memory: a full server refuses what workers write.
func memory(ctx context.Context, s *server) Finding {
	used, err := s.bytes(ctx, "used_memory")
	if err != nil {
		return s.unclear(err)
	}
	limit, err := s.bytes(ctx, "maxmemory")
	if err != nil {
		return s.unclear(err)
	}
	if limit == 0 {
		return ok(megabytes(used) + " used, no limit")
	}
	found := fmt.Sprintf("%s of %s used", megabytes(used), megabytes(limit))
	if used > fullMemory*limit {
		return warn(found+": a full server refuses reports and new runs", "redis-cli CONFIG SET maxmemory BYTES, or remove old runs with loadctl rm")
	}
	return ok(found)
}

// bytes returns a number of bytes from INFO or CONFIG.
func (s *server) bytes(ctx context.Context, name string) (float64, error) {
	text, err := s.either(ctx, name)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, errNoValue
	}
	return n, nil
}

func megabytes(n float64) string { return strconv.FormatFloat(n/1e6, 'f', 1, 64) + " MB" }
