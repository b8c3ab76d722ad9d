//go:build linux

package main

import (
	"context"
	"time"
)

// saturationHTTP2 lets h2load and loadworker fire over HTTP/2 as fast as they can from one core: over many connections,
// and over few with many streams, where one write carries many requests.
func saturationHTTP2(ctx context.Context, b *bench, s *section) error {
	ours := product{variant: "max", qps: "max", closed: true}.tool(b)
	peer := h2load()
	all := []tool{ours}
	if err := peer.locate(ctx); err != nil {
		s.fail(peer.name, err)
	} else {
		all = []tool{peer, ours}
	}
	length, warm := b.lasting(3*time.Second, 500*time.Millisecond)
	for _, l := range []load{{connections: 64, streams: 1, length: length}, {connections: 4, streams: 50, length: length}} {
		s.heading("%d connections, %d at a time on each", l.connections, l.streams)
		rounds, err := contend(ctx, b, s, b.rounds, b.shooters(s, all, l, endpointOptions{http2: true}, warm))
		if err != nil {
			return err
		}
		besides(s, rounds, peer.name)
		s.atLeast(s.at+" "+ours.name+", requests/s to h2load's", ratio(rounds, shot.perSecond, ours.name, peer.name), 0.8, "%.2f")
	}
	return nil
}

// saturationHTTP2TLS does the same over TLS, where k6 speaks HTTP/2 too. The endpoint has a goroutine for each connection
// and may be the busier side. So what a second of the client's core sends is compared.
func saturationHTTP2TLS(ctx context.Context, b *bench, s *section) error {
	ours := product{variant: "max", qps: "max", closed: true}.tool(b)
	length, warm := b.lasting(3*time.Second, time.Second)
	l := load{connections: 64, streams: 1, length: length}
	all := []tool{ours}
	for _, peer := range []tool{h2load(), k6(b)} {
		if err := peer.locate(ctx); err != nil {
			s.fail(peer.name, err)
			continue
		}
		all = append(all, peer)
	}
	rounds, err := contend(ctx, b, s, b.rounds, b.shooters(s, all, l, endpointOptions{http2: true, tls: true, stamped: true}, warm))
	if err != nil {
		return err
	}
	besides(s, rounds, "h2load")
	perCore := func(s shot) float64 { return 1e6 / s.micros() }
	s.atLeast(ours.name+" with TLS, requests per second of its core to h2load's", ratio(rounds, perCore, ours.name, "h2load"), 0.8, "%.2f")
	s.atLeast(ours.name+" with TLS, requests per second of its core to k6's", ratio(rounds, perCore, ours.name, "k6"), 4, "%.2f")
	return nil
}
