//go:build linux

package main

import (
	"context"
	"os"
	"strings"
	"time"
)

// greeter describes the service that is called.
const greeter = `syntax = "proto3";
package helloworld;
service Greeter { rpc SayHello (HelloRequest) returns (HelloReply); }
message HelloRequest { string name = 1; }
message HelloReply { string message = 1; }
`

// greeterMethod is the path of the method that is called, and greeting the message.
const (
	greeterMethod = "/helloworld.Greeter/SayHello"
	greeting      = `{"name":"ann"}`
)

// saturationGRPC lets ghz and loadworker make unary calls as fast as they can from one core: over many connections, and
// over few with many streams. Both encode the message once, or for each call.
func saturationGRPC(ctx context.Context, b *bench, s *section) error {
	file := b.file("greeter.proto")
	if err := os.WriteFile(file, []byte(greeter), 0o600); err != nil {
		return err
	}
	worker := func(variant, body string) tool {
		return product{variant: variant, qps: "max", closed: true, grpc: true, flags: []string{"--proto", file, "-d", body}}.tool(b)
	}
	ours, filled := worker("max", greeting), worker("max, filled", strings.Replace(greeting, "ann", "ann ${ordinal}", 1))
	all := []tool{ours, filled}
	peer := ghz(file)
	if err := peer.locate(ctx); err != nil {
		s.fail(peer.name, err)
	} else {
		all = append(all, peer)
	}
	length, warm := b.lasting(3*time.Second, 500*time.Millisecond)
	for _, l := range []load{{connections: 64, streams: 1, length: length}, {connections: 4, streams: 50, length: length}} {
		s.heading("%d connections, %d at a time on each", l.connections, l.streams)
		rounds, err := contend(ctx, b, s, b.rounds, b.shooters(s, all, l, endpointOptions{grpc: true}, warm))
		if err != nil {
			return err
		}
		besides(s, rounds, peer.name)
		s.atLeast(s.at+" "+ours.name+", calls/s to ghz's", ratio(rounds, shot.perSecond, ours.name, peer.name), 3, "%.2f")
	}
	return nil
}
