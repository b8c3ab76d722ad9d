package doctor

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

// persistence checks that runs survive a restart: else a restart loses all runs, and workers end with an error.
func persistence(ctx context.Context, s *server) Finding {
	aof, told := s.field(ctx, "aof_enabled")
	if aof == "1" {
		return ok("appendonly yes")
	}
	for _, setting := range []struct{ name, off string }{{"appendonly", "no"}, {"save", ""}} {
		value, err := s.setting(ctx, setting.name)
		if err != nil {
			return s.unsaved(told, err)
		}
		if value != setting.off {
			return ok(setting.name + " " + value)
		}
	}
	return warn("none: a restart of the server loses all runs and reports", "redis-cli CONFIG SET appendonly yes")
}

// unsaved returns the finding if there is no append-only file, or INFO does not say, and CONFIG has failed. A user
// should not be allowed CONFIG, because it shows passwords.
func (s *server) unsaved(info, config error) Finding {
	_, withheld := errors.AsType[redis.Error](config)
	_, refused := errors.AsType[redis.Error](info)
	switch {
	case withheld && info == nil:
		return warn("no append-only file; this user may not read the setting save, so snapshots were not checked",
			"as an administrator: redis-cli CONFIG GET save; if it is empty, a restart loses all runs and reports")
	case refused: // it would do
		return s.unclear(info)
	default:
		return s.unclear(config)
	}
}

// replication checks the replicas: one that takes over may lack the last moments of a run. INFO has the number of good
// replicas only if the server demands some.
func replication(ctx context.Context, s *server) Finding {
	replicas, err := s.field(ctx, "connected_slaves")
	if err != nil {
		return s.unclear(err)
	}
	_, err = s.field(ctx, "min_slaves_good_slaves")
	switch {
	case replicas == "0":
		return ok("no replicas")
	case err != nil:
		return warn(replicas+" attached, none has to keep up: a failover may lose the last moments of a run", "redis-cli CONFIG SET min-replicas-to-write 1")
	default:
		return ok(replicas + " attached, min-replicas-to-write is set")
	}
}
