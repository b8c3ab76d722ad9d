//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// greeter describes the service that is called.
const greeter = `syntax = "proto3";
package helloworld;
service Greeter {
  rpc SayHello (HelloRequest) returns (HelloReply);
  rpc Chat (stream HelloRequest) returns (stream HelloReply);
}
message HelloRequest { string name = 1; }
message HelloReply { string message = 1; }
`

// greeterMethod and chatMethod are the paths of the methods, and greeting is the message.
const (
	greeterMethod = "/helloworld.Greeter/SayHello"
	chatMethod    = "/helloworld.Greeter/Chat"
	greeting      = `{"name":"ann"}`
)

// saturationGRPC lets ghz and loadworker make unary calls as fast as they can from one core: over many connections, and
// over few with many streams. Both encode the message once, or for each call. Then loadworker and k6 send messages on
// streams that stay open.
func saturationGRPC(ctx context.Context, b *bench, s *section) error {
	file := b.file("greeter.proto")
	if err := os.WriteFile(file, []byte(greeter), 0o600); err != nil {
		return err
	}
	worker := func(variant, method, body string) tool {
		return product{variant: variant, qps: "max", closed: true, grpc: method, flags: []string{"--proto", file, "-d", body}}.tool(b)
	}
	ours, filled := worker("max", greeterMethod, greeting), worker("max, filled", greeterMethod, strings.Replace(greeting, "ann", "ann ${ordinal}", 1))
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
	return chats(ctx, b, s, file, worker("max, messages", chatMethod, greeting))
}

// chats compares messages on streams that stay open: k6 has one stream for each virtual user.
func chats(ctx context.Context, b *bench, s *section, file string, ours tool) error {
	all := []tool{ours}
	peer := chatter(b, file)
	if err := peer.locate(ctx); err != nil {
		s.fail(peer.name, err)
	} else {
		all = append(all, peer)
	}
	length, warm := b.lasting(3*time.Second, time.Second)
	s.heading("messages on 64 streams that stay open")
	rounds, err := contend(ctx, b, s, b.rounds, b.shooters(s, all, load{connections: 64, streams: 1, length: length}, endpointOptions{grpc: true}, warm))
	if err != nil {
		return err
	}
	besides(s, rounds, peer.name)
	s.atLeast(s.at+" "+ours.name+", messages per core to those of "+peer.name, pairedShots(rounds.take(peer.name), rounds.take(ours.name)).median(), 3, "%.2f")
	return nil
}

// chatter is k6 with streams of gRPC, in its fastest form.
func chatter(b *bench, file string) tool {
	t := k6(b)
	t.name = "k6, gRPC streams"
	t.args = func(l load) []string {
		return []string{"run", "-q", "-e", "ADDRESS=" + strings.TrimSuffix(strings.TrimPrefix(l.url, "http://"), "/"), "-e", "PROTO=" + filepath.Base(file),
			"-e", "METHOD=" + chatMethod[1:], "-e", fmt.Sprint("VUS=", l.connections), "-e", fmt.Sprint("SECONDS=", l.seconds()), b.file("k6grpc.js")}
	}
	return t
}
