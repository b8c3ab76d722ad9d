package link

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/loadctl/loadctl/internal/fleet/mux"
	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/outage"
)

const (
	connectPatience = 5 * time.Second // of one attempt to connect
	maxStreams      = 1000
)

// Link is a worker's way to Redis. All its calls and messages use one connection to each server. So a server with
// room for 10,000 clients has room for as many workers. docs/adr/0015-one-connection.md tells how.
type Link struct {
	Client  rdb.Client // as from Connect
	address string
	name    string
	lines   *mux.Dialer

	mu    sync.Mutex
	aside rdb.Client // nil = not needed yet
}

// New is Connect for a worker. Redis shows the name in CLIENT LIST. A client_name in the URL wins over it.
func New(ctx context.Context, address, name string) (*Link, error) {
	l := &Link{address: address, name: name}
	var err error
	if l.Client, err = connect(ctx, address, l); err != nil {
		l.hangUp()
		return nil, err
	}
	if !l.lines.RESP3() {
		_ = l.Close() // nothing was said yet
		return nil, errors.New("reach Redis: the server refuses the protocol RESP3 (HELLO 3), which workers need; use Redis 6.2 or newer, and no proxy that refuses it")
	}
	return l, nil
}

// share makes a client use only the sockets that connect opens; without a link it has its own. It is no method: those
// of an exported type must not lead to the types that internal/fleet/rdb avoids.
func share(l *Link, o *redis.Options, connect dialer) {
	if l == nil {
		return
	}
	o.DialTimeout = cmp.Or(o.DialTimeout, connectPatience)
	o.Dialer, o.Protocol = l.dial(connect), 3
	// Renewals are repeated, so nothing else is. Streams cost next to nothing. After as many failures as the pool is
	// large, the library connects only once a second, which would be late when the server is back.
	o.DialerRetries, o.PoolSize = 1, maxStreams
	// The identity of a client costs a round trip for each stream, and the server's time when thousands join.
	o.DisableIdentity, o.MaintNotificationsConfig = true, &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	if o.ClientName == "" {
		o.OnConnect = introduce(l.name)
	}
}

// shareNodes is share for all nodes of a cluster.
func shareNodes(l *Link, o *redis.ClusterOptions) {
	if l == nil {
		return
	}
	node := &redis.Options{ClientName: o.ClientName, TLSConfig: o.TLSConfig, DialTimeout: o.DialTimeout}
	share(l, node, redis.NewDialer(node))
	o.DialTimeout, o.Dialer, o.Protocol, o.DialerRetries, o.PoolSize = node.DialTimeout, node.Dialer, node.Protocol, node.DialerRetries, node.PoolSize
	o.DisableIdentity, o.MaintNotificationsConfig, o.OnConnect = node.DisableIdentity, node.MaintNotificationsConfig, node.OnConnect
}

// dial replaces the earlier dialer, when a server turns out to be one node of a cluster.
func (l *Link) dial(connect dialer) dialer {
	l.hangUp()
	l.lines = mux.New(connect)
	return l.lines.Dial
}

// introduce tells the server the worker's name. Any user may call HELLO. CLIENT SETNAME needs a permission.
func introduce(name string) func(context.Context, *redis.Conn) error {
	return func(ctx context.Context, c *redis.Conn) error {
		err := c.Do(ctx, "hello", 3, "setname", name).Err()
		if _, refused := errors.AsType[redis.Error](err); refused {
			return nil // it goes without a name
		}
		return err
	}
}

// Wakeups signals until the link is closed that something was published on one of the channels, or may have been while
// the link was down. It is only a hint: messages may be lost. Until ctx ends it subscribes again after each loss of the
// connection.
func (l *Link) Wakeups(ctx context.Context, channels ...string) <-chan struct{} {
	go listen(ctx, l.lines, func(ctx context.Context) error {
		for _, c := range channels {
			if err := l.subscribe(ctx, c); err != nil {
				return err
			}
		}
		return nil
	})
	return l.lines.Wake()
}

// Messages returns what was published after the call of Wakeups, in order. Empty messages are only
// wake-ups. Of unread messages the newest 256 are kept.
func (l *Link) Messages() <-chan []byte { return l.lines.Messages() }

// subscribe subscribes at the node of a cluster that has the run, where its messages arrive first.
func (l *Link) subscribe(ctx context.Context, channel string) error {
	cluster, parts := l.Client.(*redis.ClusterClient)
	if !parts {
		return l.Client.Do(ctx, "subscribe", channel).Err()
	}
	node, err := cluster.MasterForKey(ctx, channel)
	if err == nil {
		err = node.Do(ctx, "subscribe", channel).Err()
	}
	if err != nil {
		cluster.ReloadState(ctx) // another one may have it now
	}
	return err
}

// Aside returns another connection, which is opened at the first call. It is for reading the results of the whole
// fleet: on the link a renewal would wait behind them.
func (l *Link) Aside(ctx context.Context) (rdb.Client, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.aside == nil {
		client, err := Connect(ctx, l.address)
		if err != nil {
			return nil, err
		}
		l.aside = client
	}
	return l.aside, nil
}

// Close ends all connections.
func (l *Link) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.Client.Close()
	if l.aside != nil {
		err = errors.Join(err, l.aside.Close())
	}
	l.hangUp()
	return err
}

func (l *Link) hangUp() {
	if l.lines != nil {
		_ = l.lines.Close() // it is never an error
	}
}

// Temporary reports whether an error is a refusal of Redis that ends by itself: it has no room for another client, is
// reading its data, or is blocked by a script.
func Temporary(err error) bool {
	answer, refused := errors.AsType[redis.Error](err)
	return errors.Is(err, mux.ErrRefused) || refused && (strings.Contains(answer.Error(), "max number of clients") ||
		strings.HasPrefix(answer.Error(), "LOADING ") || strings.HasPrefix(answer.Error(), "BUSY "))
}

// RetryPatiently calls connect until it succeeds, fails for good, ctx ends, or it would take longer than patience; 0 =
// without an end. It waits in between, at random and about twice as long each time, up to 4 s. So thousands of
// workers that start together do not keep a server busy with refusals. told is called with the first refusal.
func RetryPatiently[T any](ctx context.Context, patience time.Duration, told func(error), connect func(context.Context) (T, error)) (T, error) {
	pause, began := outage.Backoff{First: 100 * time.Millisecond, Most: 4 * time.Second}, time.Now()
	for {
		made, err := connect(ctx)
		if err == nil || !Temporary(err) {
			return made, err
		}
		if told != nil {
			told(err)
			told = nil
		}
		wait := pause.Next()
		if patience > 0 && time.Since(began)+wait > patience {
			return made, err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return made, context.Cause(ctx)
		}
	}
}
