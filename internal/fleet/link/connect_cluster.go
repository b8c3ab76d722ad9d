package link

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/rdb"
)

// errNode: the named server is a node of a cluster, and its client must know the others.
var errNode = errors.New("the server is a node of a cluster")

// ask checks that a server answers. It returns errNode for a node of a cluster. A Sentinel holds no runs.
func ask(ctx context.Context, client *redis.Client) error {
	if err := client.Ping(ctx).Err(); err != nil {
		return err
	}
	// A server that does not know HELLO is no node; any user may call it.
	hello := redis.NewMapStringInterfaceCmd(ctx, "HELLO")
	switch err := client.Process(ctx, hello); {
	case err == nil && hello.Val()["mode"] == "cluster":
		return errNode
	case err == nil && hello.Val()["mode"] == "sentinel":
		return errSentinel()
	}
	return nil
}

// openCluster returns a client of the whole cluster. The URL names some of its nodes.
func openCluster(u *url.URL, link *Link) (rdb.Client, error) {
	o, err := clusterOptions(u)
	if err != nil {
		return nil, misread(u, err, "redis://[user:password@]host:port?addr=host:port&addr=host:port")
	}
	shareNodes(link, o)
	client := redis.NewClusterClient(o)
	client.OnNewNode(func(node *redis.Client) { node.AddHook(refusals{}) })
	if limit := client.Options().ReadTimeout; limit > 0 {
		client.AddHook(bounded(limit))
	}
	client.AddHook(reloading{client.ReloadState})
	client.OnNewNode(func(node *redis.Client) { node.AddHook(mapAsked{}) })
	return client, nil
}

func clusterOptions(u *url.URL) (*redis.ClusterOptions, error) {
	query := u.Query()
	switch db := cmp.Or(strings.Trim(u.Path, "/"), query.Get("db")); {
	case u.Scheme == "unix":
		return nil, errors.New("a cluster needs host and port, not a socket")
	case db != "" && db != "0":
		return nil, errors.New("a cluster has only database 0")
	}
	for _, node := range query["addr"] { // it may be a user and a password, and an address is shown
		if strings.Contains(node, "%") || strings.Count(node, ":") > 1 && !strings.HasPrefix(node, "[") {
			return nil, errors.New("an addr is not of the form host:port")
		}
	}
	query.Del("db")
	named := *u
	named.RawQuery = query.Encode()
	o, err := redis.ParseClusterURL(named.String())
	if err != nil {
		return nil, unquoted(err)
	}
	if o.ReadOnly || o.RouteByLatency || o.RouteRandomly {
		return nil, errors.New("replicas know a run's changes late, so leave out read_only, route_by_latency and route_randomly")
	}
	o.MaxRetries, o.ContextTimeoutEnabled = -1, true
	o.PipelinePoolSize = -1 // else pipelines would have connections of their own
	o.ClusterStateReloadInterval = reloadEvery
	// With the policies the first call also asks some node for all commands, for up to 5 s, whatever its own
	// deadline.
	o.DisableRoutingPolicies = true
	return o, nil
}

// bounded gives a call without a deadline the time for one answer, with all its repetitions and redirects. Else a
// node that hangs would block it four times as long as a single server can.
type bounded time.Duration

// DialHook implements redis.Hook.
func (bounded) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook.
func (b bounded) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		ctx, cancel := context.WithTimeout(ctx, time.Duration(b))
		defer cancel()
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook implements redis.Hook.
func (b bounded) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		ctx, cancel := context.WithTimeout(ctx, time.Duration(b))
		defer cancel()
		return next(ctx, cmds)
	}
}

// askAnother is how long one of the named nodes may take until another one is asked too.
const askAnother = 500 * time.Millisecond

// greetCluster learns from one of the named nodes, chosen at random each time, which nodes there are. A node that
// hangs does not use up the time of the others. No other node has to answer: one that is down only takes its own runs
// with it. ctx has a deadline, which also ends calls whose answers are not needed any more.
func greetCluster(ctx context.Context, cluster *redis.ClusterClient) error {
	another := time.NewTicker(askAnother)
	defer another.Stop()
	for answer := make(chan error, 1); ; {
		go func() {
			_, err := cluster.MasterForKey(ctx, "any key")
			select {
			case answer <- err:
			default: // another one was faster
			}
		}()
		select {
		case err := <-answer:
			return err
		case <-another.C:
		}
	}
}
