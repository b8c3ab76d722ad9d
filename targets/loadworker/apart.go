package loadworker

import (
	"context"
	"errors"
	"log/slog"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/console/doctor"
	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/targets/probe"
)

// apart refuses to send load to the Redis that holds the run: the load would slow down what controls it, and a command
// such as FLUSHALL would end it. It compares the run_id of the servers, and their addresses where that cannot be read.
// A target that cannot be reached is not that Redis, because the worker has just reached it.
func (f *memberFlags) apart(ctx context.Context, client rdb.Client, log *slog.Logger) error {
	limit, cancel := context.WithTimeout(ctx, reachPatience)
	defer cancel()
	theirs, err := probe.RedisServers(limit, f.target.spec, f.target.local)
	if err != nil || len(theirs) == 0 {
		return context.Cause(ctx)
	}
	holders := doctor.FindHolders(limit, client)
	for _, server := range theirs {
		if holders.Has(server) {
			return cli.Config(errors.New("the target is the Redis that holds the run; nothing was sent. Give another Redis in --url, or another one in --redis"))
		}
		if !holders.Certain(server) {
			log.Warn("cannot read who the target is (INFO server); make sure that it is not the Redis that holds the run", "target", server.Address)
		}
	}
	return nil
}
