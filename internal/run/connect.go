package run

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Connect reaches the Redis server at a URL in one of go-redis' forms: redis://[user:password@]host:port/db, rediss://… for
// TLS, unix://path, and with ?addr=host:port for the further nodes of a cluster. "@FILE" reads the URL from a file, so
// that a password is in no process list. No error shows the password.
//
// Calls are not repeated by the client: the lease protocol does that, with a sequence number.
func Connect(ctx context.Context, address string) (redis.UniversalClient, error) {
	if file, ok := strings.CutPrefix(address, "@"); ok {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read the Redis URL: %w", err)
		}
		address = strings.TrimSpace(string(text))
	}
	client, err := open(address)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := client.Ping(ctx).Err(); err != nil {
		client.Close()
		return nil, fmt.Errorf("reach Redis at %s: %w; check --redis or LOADCTL_REDIS", Host(address), err)
	}
	return client, nil
}

// Host is what may be shown of a Redis URL: host and port.
func Host(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "the address given"
	}
	if u.Host == "" {
		return u.Path
	}
	return u.Host
}

func open(address string) (redis.UniversalClient, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "redis" && u.Scheme != "rediss" && u.Scheme != "unix" {
		return nil, errors.New("Redis URL: not of the form redis://host:port, rediss://host:port or unix:///path")
	}
	if u.Query().Has("addr") {
		o, err := redis.ParseClusterURL(address)
		if err != nil {
			return nil, fmt.Errorf("Redis URL of %s: %w", Host(address), withoutURL(err))
		}
		o.MaxRetries, o.ContextTimeoutEnabled = -1, true
		return redis.NewClusterClient(o), nil
	}
	o, err := redis.ParseURL(address)
	if err != nil {
		return nil, fmt.Errorf("Redis URL of %s: %w", Host(address), withoutURL(err))
	}
	o.MaxRetries, o.ContextTimeoutEnabled = -1, true
	return redis.NewClient(o), nil
}

// withoutURL removes the text of the URL, which may hold a password, from an error.
func withoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}
