//go:build linux

package main

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// A server is a private redis-server, on the core of the endpoint.
type server struct {
	*process
	port    int
	client  *redis.Client
	version string
}

// startRedis starts one that keeps nothing on disk.
func startRedis(ctx context.Context, dir string) (*server, error) {
	// Someone may take the port before the server does; then it ends, and that is told below.
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	s := &server{port: port}
	argv := []string{"redis-server", "--bind", "127.0.0.1", "--port", strconv.Itoa(port), "--dir", dir, "--save", "", "--appendonly", "no"}
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

// calls is how many scripts the server has run so far.
func (s *server) calls(ctx context.Context) (int64, error) {
	info, err := s.client.InfoMap(ctx, "commandstats").Result()
	if err != nil {
		return 0, err
	}
	var sum int64
	for command, stats := range info["Commandstats"] {
		if name := strings.TrimPrefix(command, "cmdstat_"); strings.HasPrefix(name, "eval") || strings.HasPrefix(name, "fcall") {
			var n int64
			if _, err := fmt.Sscanf(stats, "calls=%d,", &n); err != nil {
				return 0, fmt.Errorf("read INFO commandstats: %w", err)
			}
			sum += n
		}
	}
	return sum, nil
}
