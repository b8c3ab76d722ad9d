package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/fleet/link"
	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/fleet/run"
)

// Redis is the flag that names the server.
type Redis struct {
	address string
	warn    func(string) // tells of a connection that is not safe; nil = there is no need to any more
}

// embeddedPort is where an embedded server listens if it is free. It is fixed, so that people can remember it.
const embeddedPort = "6380"

// AddFlags adds --redis to a command and its subcommands. The environment is read when connecting. It is not shown as
// a default, as it may hold a password. without says what is used if neither is given.
func (r *Redis) AddFlags(c *cobra.Command, without string) {
	r.warn = func(why string) { Warn(c, "%s", why) }
	c.PersistentFlags().StringVar(&r.address, "redis", "", "`URL` of Redis: redis://host:port, rediss://… with TLS, unix:///path, or @FILE that holds the URL. Cluster: any node. Sentinel: ?master_name=NAME "+
		"(default: environment LOADCTL_REDIS"+without+")")
}

// given returns the URL from the flag or the environment, or "".
func (r *Redis) given() string { return cmp.Or(r.address, os.Getenv("LOADCTL_REDIS")) }

// ErrNoRedis says that no Redis was named.
var ErrNoRedis = errors.New("which Redis? Give --redis redis://host:port, or set LOADCTL_REDIS")

// Address returns the URL that was given.
func (r *Redis) Address() (string, error) {
	if address := r.given(); address != "" {
		return address, nil
	}
	return "", Config(fmt.Errorf("%w; a worker started without one prints the address of its own", ErrNoRedis))
}

// Check refuses a bad port of --redis embedded:PORT.
func (r *Redis) Check() error {
	addresses, ok := r.Embedded()
	if !ok {
		return nil
	}
	_, port, _ := net.SplitHostPort(addresses[0])
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return Config(fmt.Errorf("--redis %.40q: the port is a number up to 65535, such as embedded:%s; 0 takes a free one", r.given(), embeddedPort))
	}
	return nil
}

// Embedded reports whether a worker starts a server of its own: no server was named, or --redis embedded[:PORT] was
// given. The server listens at the first of the addresses that is free.
func (r *Redis) Embedded() (addresses []string, ok bool) {
	name, port, named := strings.Cut(r.given(), ":")
	switch {
	case r.given() != "" && name != "embedded":
		return nil, false
	case named:
		return []string{net.JoinHostPort("127.0.0.1", port)}, true
	default:
		return []string{net.JoinHostPort("127.0.0.1", embeddedPort), "127.0.0.1:0"}, true
	}
}

// Warn sets how to warn, once, of a connection that is not safe. By default that is a line on stderr.
func (r *Redis) Warn(tell func(string)) { r.warn = tell }

// Use makes address the server from now on.
func (r *Redis) Use(address string) { r.address = address }

// Connect reaches the server.
func (r *Redis) Connect(ctx context.Context) (rdb.Client, error) {
	address, err := r.Address()
	if err != nil {
		return nil, err
	}
	if _, embedded := r.Embedded(); embedded {
		return nil, Config(fmt.Errorf("--redis %.40q: the server is in a worker, which prints its address; give that, redis://127.0.0.1:PORT", address))
	}
	client, err := link.Connect(ctx, address)
	if err != nil {
		return nil, Config(err)
	}
	r.unverified(client)
	return client, nil
}

// Link reaches the server for a worker of this name, over one connection for calls and messages. If the server refuses
// it for a reason that passes, Link tries again for at most patience; 0 = without an end. told is called with the
// first refusal.
func (r *Redis) Link(ctx context.Context, name string, patience time.Duration, told func(error)) (*link.Link, error) {
	address, err := r.Address()
	if err != nil {
		return nil, err
	}
	link, err := link.RetryPatiently(ctx, patience, told, func(ctx context.Context) (*link.Link, error) { return link.New(ctx, address, name) })
	if err != nil {
		return nil, Config(err)
	}
	r.unverified(link.Client)
	return link, nil
}

// unverified warns, once, of a connection that is not safe.
func (r *Redis) unverified(client rdb.Client) {
	if why := link.UnverifiedWarning(client); why != "" && r.warn != nil {
		r.warn(why)
		r.warn = nil
	}
}

// Open reaches the server and opens a run. The caller closes the client.
func (r *Redis) Open(ctx context.Context, name string) (rdb.Client, *run.Run, error) {
	client, err := r.Connect(ctx)
	if err != nil {
		return nil, nil, err
	}
	opened, err := run.Open(ctx, client, name)
	if err != nil {
		Close(client)
		return nil, nil, Config(err)
	}
	return client, opened, nil
}
