package ui

import (
	"context"
	"sync"

	"github.com/loadctl/loadctl/internal/fleet/rdb"
)

// A Connection is the client of Redis, once it was reached. The client itself reaches the server again after that.
type Connection struct {
	Reach func(context.Context) (rdb.Client, error)

	mu     sync.Mutex
	client rdb.Client
}

// Client returns the client. It may be called from any goroutine; only one tries at a time.
func (c *Connection) Client(ctx context.Context) (rdb.Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.client != nil {
		return c.client, nil
	}
	client, err := c.Reach(ctx)
	if err == nil {
		c.client = client
	}
	return client, err
}

// Close closes the client, if there is one.
func (c *Connection) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.client == nil {
		return nil
	}
	return c.client.Close()
}
