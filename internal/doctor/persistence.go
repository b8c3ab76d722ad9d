package doctor

import "context"

// persistence: without it a restart forgets all runs, and workers end with an error.
func persistence(ctx context.Context, s *server) Finding {
	// CONFIG is often not allowed where INFO is.
	if aof, err := s.field(ctx, "aof_enabled"); err == nil && aof == "1" {
		return ok("appendonly yes")
	}
	for _, setting := range []struct{ name, off string }{{"appendonly", "no"}, {"save", ""}} {
		value, err := s.setting(ctx, setting.name)
		if err != nil {
			return s.unclear(err)
		}
		if value != setting.off {
			return ok(setting.name + " " + value)
		}
	}
	return warn("none: a restart of the server forgets all runs and reports", "redis-cli CONFIG SET appendonly yes")
}

// replication: a replica that takes over may lack the last moments, and slots leased in them would be leased again. INFO has the number of
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
