package probe

import (
	"context"
	"fmt"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/resp"
	"github.com/loadctl/loadctl/targets/wire"
)

// A RedisServer is one that requests go to.
type RedisServer struct {
	ID      string // its run_id; "" if it does not say
	Version string // the same
	Address string // of the connection
}

// logIn sends the commands of a login, if there are some.
func (p *conn) logIn() error {
	if p.to.Login == "" {
		return nil
	}
	if err := resp.LogIn(p, p.to.Login); err != nil {
		return fmt.Errorf("log in to %s: %w", p.to.Address, err)
	}
	return nil
}

// server asks the server of a connection who it is. If it refuses, the error is a resp.Error; the address is known anyway.
func (p *conn) server() (RedisServer, error) {
	server := RedisServer{Address: p.RemoteAddr().String()}
	text, err := resp.Ask(p, resp.AppendCommand(nil, "INFO", "server"))
	if err == nil {
		server.ID, server.Version = resp.RunID(text), resp.InfoField(text, "redis_version")
	}
	return server, err
}

// RedisServers asks the servers of Redis that requests go to who they are, each once. It fails if one cannot be reached. ctx
// must have a deadline.
func RedisServers(ctx context.Context, s targets.Spec, local targets.Local) (all []RedisServer, err error) {
	asked := map[wire.Endpoint]bool{}
	for _, one := range s.Steps() {
		w, err := wire.NewStep(one, local, nil)
		if err != nil {
			return nil, err
		}
		to := w.Endpoint()
		if to.Use != wire.UseRedis || asked[to] {
			continue
		}
		asked[to] = true
		d, err := newDialer(s, local)
		if err != nil {
			return nil, err
		}
		server, err := d.redis(ctx, to)
		if err != nil {
			return nil, err
		}
		all = append(all, server)
	}
	return all, nil
}

// redis asks a server on a connection of its own.
func (d *dialer) redis(ctx context.Context, to wire.Endpoint) (RedisServer, error) {
	p, err := d.dial(ctx, to)
	if err != nil {
		return RedisServer{}, err
	}
	defer p.Close()
	if err := p.logIn(); err != nil {
		return RedisServer{}, err
	}
	server, _ := p.server() // without an answer its address says who it is
	return server, nil
}
