//go:build linux

package main

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/rdb"
)

// A server is a private redis-server on the endpoint's core.
type server struct {
	*process
	port    int
	client  *redis.Client
	version string
}

// startRedis starts a server that keeps nothing on disk.
func startRedis(ctx context.Context, dir string) (*server, error) {
	// Another process may take the port before the server does. Then the server ends, and its last words are returned
	// below.
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	s := &server{port: port}
	argv := []string{"redis-server", "--bind", "127.0.0.1", "--port", strconv.Itoa(port), "--dir", dir, "--save", "", "--appendonly", "no", "--maxclients", "15000"}
	if s.process, err = spawn(serverCore, argv, nil); err != nil {
		return nil, err
	}
	s.client = redis.NewClient(&redis.Options{Addr: net.JoinHostPort("127.0.0.1", strconv.Itoa(port))})
	for s.client.Ping(ctx).Err() != nil {
		select {
		case <-s.done:
			return nil, fmt.Errorf("start redis-server (apt-get install redis-server): %s", s.lastWords())
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
	info, err := s.client.InfoMap(ctx, "server").Result()
	if err != nil {
		return nil, err
	}
	s.version = info["Server"]["redis_version"]
	return s, nil
}

func (s *server) url() string { return fmt.Sprintf("redis://127.0.0.1:%d", s.port) }

func (s *server) pid() int { return s.cmd.Process.Pid }

func (s *server) stop() {
	s.client.Close()
	s.kill()
}

// calls returns how many scripts the server has run so far.
func (s *server) calls(ctx context.Context) (int64, error) {
	all, err := commandStats(ctx, s.client)
	return all.of("eval", "fcall").calls, err
}

// commands counts the commands that a server has run so far, by name. Commands that scripts called are included.
type commands map[string]tally

type tally struct {
	calls int64
	took  time.Duration // by the clock
}

func commandStats(ctx context.Context, client rdb.Client) (commands, error) {
	info, err := client.InfoMap(ctx, "commandstats").Result()
	if err != nil {
		return nil, err
	}
	all := commands{}
	for name, stats := range info["Commandstats"] {
		var n, us int64
		if _, err := fmt.Sscanf(stats, "calls=%d,usec=%d,", &n, &us); err != nil {
			return nil, fmt.Errorf("read INFO commandstats: %w", err)
		}
		all[strings.TrimPrefix(name, "cmdstat_")] = tally{n, time.Duration(us) * time.Microsecond}
	}
	return all, nil
}

// of returns the sum of the commands whose names begin with one of these words.
func (c commands) of(words ...string) (sum tally) {
	for name, one := range c {
		if slices.ContainsFunc(words, func(word string) bool { return strings.HasPrefix(name, word) }) {
			sum.calls, sum.took = sum.calls+one.calls, sum.took+one.took
		}
	}
	return sum
}
