package loadworker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/console/doctor"
	"github.com/loadctl/loadctl/internal/engine/loop"
	"github.com/loadctl/loadctl/internal/engine/worker"
	"github.com/loadctl/loadctl/targets"
)

// connectionFlags say from which addresses, and when, this worker opens connections.
type connectionFlags struct {
	locals     []string // IP addresses; none: the system chooses
	preconnect int
}

func (f *connectionFlags) AddFlags(c *cobra.Command) {
	c.Flags().StringArrayVar(&f.locals, "laddr", nil,
		"connect from this `IP` address of this machine; may be repeated, to take turns")
	c.Flags().IntVar(&f.preconnect, "preconnect", 0,
		"open this many connections before this worker joins, evenly within a second")
}

// check validates the flags. most is the largest possible number of connections.
func (f *connectionFlags) check(most int) error {
	for i, text := range f.locals {
		ip := net.ParseIP(text)
		switch {
		case ip == nil && strings.Contains(text, ","):
			return fmt.Errorf("--laddr %.50q: give one IP address, and repeat the flag for more than one", text)
		case ip == nil || ip.IsUnspecified() || ip.IsMulticast() || doctor.Broadcast(ip):
			return fmt.Errorf("--laddr %.50q: give an IP address of this machine, such as 10.0.0.5", text)
		case slices.Contains(f.locals[:i], ip.String()):
			return fmt.Errorf("--laddr %s: is given twice; leave one out", ip)
		}
		f.locals[i] = ip.String()
	}
	if f.preconnect < 0 || f.preconnect > most {
		return fmt.Errorf("--preconnect: give a number up to %d, which is all that --max-connections and --max-in-flight allow; 0 means none", most)
	}
	return nil
}

// suit refuses flags that have no effect on this target.
func (f *connectionFlags) suit(spec targets.Spec) error {
	connects := len(spec.Hosts()) > 0
	switch {
	case len(f.locals) > 0 && !connects:
		return fmt.Errorf("--laddr: %s opens no connections; leave it out", spec.Redacted().URL)
	case f.preconnect > 0 && !connects:
		return fmt.Errorf("--preconnect: %s opens no connections; leave it out", spec.Redacted().URL)
	case f.preconnect > 0 && len(spec.Schemes) > 0:
		return fmt.Errorf("--preconnect: %s opens its connections itself; leave it out", spec.Schemes[0].Name)
	case f.preconnect > 0 && spec.NoKeepAlive:
		return errors.New("--preconnect and --no-keep-alive: each request opens a connection of its own; leave one of them out")
	}
	return nil
}

// fit refuses what this machine cannot do: connect from addresses that it does not have, or open n connections to host
// with too few ports.
func (f *connectionFlags) fit(host string, n int) error {
	if strings.HasPrefix(host, socket) {
		if len(f.locals) > 0 {
			return errors.New("--laddr: a Unix socket has no addresses; leave it out")
		}
		return nil
	}
	reaching, err := doctor.Reaching(f.locals, host)
	if err != nil {
		return err
	}
	if err := doctor.Locals(f.locals); err != nil {
		return fmt.Errorf("--laddr: %w", err)
	}
	return doctor.Ports(n, reaching)
}

// Connections are opened at one each millisecond, or faster to be done within a second. After preconnectPatience the
// worker joins, even if some are not open: a server may not answer.
const (
	preconnectEvery    = time.Millisecond
	preconnectWithin   = time.Second
	preconnectPatience = 5 * time.Second
)

// ahead wraps open, which opens the client of a shard. The result also opens that shard's share of the connections
// before it returns. Shards must be opened one after the other, from 0.
func (f *connectionFlags) ahead(ctx context.Context, shards int, log *slog.Logger,
	open func(shard int) (*loop.Client, error),
) func(shard int) (worker.Client, error) {
	every := min(preconnectEvery, preconnectWithin/time.Duration(max(1, f.preconnect)))
	var deadline time.Time
	opened := 0
	return func(shard int) (worker.Client, error) {
		if shard == 0 {
			deadline = time.Now().Add(preconnectPatience)
		}
		client, err := open(shard)
		switch {
		case err != nil:
			return nil, err
		case f.preconnect == 0:
			return client, nil
		}
		limit, cancel := context.WithDeadline(ctx, deadline)
		defer cancel()
		opened += client.Preconnect(limit, (f.preconnect+shard)/shards, every)
		switch {
		case shard < shards-1 || ctx.Err() != nil:
		case opened < f.preconnect:
			log.Warn("could not open all connections before the start; the others are opened when requests need them", "open", opened, "preconnect", f.preconnect)
		default:
			log.Info("connections are open", "open", opened)
		}
		return client, nil
	}
}
