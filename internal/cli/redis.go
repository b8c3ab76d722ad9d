package cli

import (
	"context"
	"errors"
	"os"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/run"
)

// Redis is the flag that names the server.
type Redis struct {
	address string
}

// AddFlags adds --redis to a command and those below it. The environment is read when connecting and is not shown as a default: it
// may hold a password.
func (r *Redis) AddFlags(c *cobra.Command) {
	c.PersistentFlags().StringVar(&r.address, "redis", "", "Redis `URL`: redis://host:port, rediss://…, unix:///path, or @FILE that holds it (default: environment LOADCTL_REDIS)")
}

// Address is the URL that was given.
func (r *Redis) Address() (string, error) {
	if r.address != "" {
		return r.address, nil
	}
	if address := os.Getenv("LOADCTL_REDIS"); address != "" {
		return address, nil
	}
	return "", Config(errors.New("which Redis? Give --redis redis://host:port, or set LOADCTL_REDIS"))
}

// Connect reaches the server.
func (r *Redis) Connect(ctx context.Context) (redis.UniversalClient, error) {
	address, err := r.Address()
	if err != nil {
		return nil, err
	}
	client, err := run.Connect(ctx, address)
	return client, Config(err)
}

// Open reaches the server and opens a run. The caller closes the client.
func (r *Redis) Open(ctx context.Context, name string) (redis.UniversalClient, *run.Run, error) {
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
