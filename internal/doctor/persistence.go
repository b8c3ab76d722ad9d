package doctor

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

// persistence: without it a restart forgets all runs, and workers end with an error.
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
	return warn("none: a restart of the server forgets all runs and reports", "redis-cli CONFIG SET appendonly yes")
}

// unsaved is the finding where there is no append-only file, or INFO does not tell, and CONFIG has answered with an error. That a user may not ask CONFIG
// is as it should be: it shows passwords.
func (s *server) unsaved(info, config error) Finding {
	_, withheld := errors.AsType[redis.Error](config)
	_, refused := errors.AsType[redis.Error](info)
	switch {
	case withheld && info == nil:
		return warn("no append-only file; this user may not ask for snapshots (save), so that was not checked",
			"ask as an administrator: redis-cli CONFIG GET save; where it is empty, a restart forgets all runs and reports")
	case refused: // it would do
		return s.unclear(info)
	default:
		return s.unclear(config)
	}
}

// replication: a replica that takes over may lack the last moments of a run. INFO has the number of
// good replicas only where some are demanded.
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
		return warn(replicas+" attached, none has to keep up: a failover may forget the last moments of a run", "redis-cli CONFIG SET min-replicas-to-write 1")
	default:
		return ok(replicas + " attached, min-replicas-to-write is set")
	}
}
