package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/run"
)

// wakeTime bounds how long a message may take.
const wakeTime = 2 * time.Second

// subscriber is a client that listens to channels: one of a server, or of a cluster.
type subscriber interface {
	Subscribe(ctx context.Context, channels ...string) *redis.PubSub
}

// wakeUps checks that messages arrive: a command uses them to tell the workers at once that the run has changed.
// Nothing else would show that they are forbidden, because workers hear of a change at their next renewal anyway.
func wakeUps(ctx context.Context, s *server) Finding {
	channel := run.KeysOf(s.scratch(ctx)).Control // on this node; another node's own finding says that it is missing
	listening := s.whole.(subscriber).Subscribe(ctx, channel)
	defer func() { _ = listening.Close() }()                         // it was only read from
	defer context.AfterFunc(ctx, func() { _ = listening.Close() })() // the wait has its own deadline
	err := received[*redis.Subscription](ctx, listening)
	if err == nil {
		err = s.node.Publish(ctx, channel, "").Err() // as a script does; the client of a cluster would use any node
	}
	if err == nil {
		err = received[*redis.Message](ctx, listening)
	}
	if err != nil {
		return warn("none arrive, so workers hear of a change some 100 ms later: "+err.Error(), remedy(err, "let PUBLISH and SUBSCRIBE through to the server"))
	}
	return ok("arrive")
}

// received waits for one reply of the expected kind.
func received[kind any](ctx context.Context, from *redis.PubSub) error {
	reply, err := from.ReceiveTimeout(ctx, wakeTime)
	if err != nil {
		return err
	}
	if _, due := reply.(kind); !due {
		return fmt.Errorf("the server answers with %T", reply)
	}
	return nil
}
