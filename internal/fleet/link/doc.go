// Package link reaches Redis: a single server, a Cluster, or the master that Sentinels name. Its errors say what to do.
//
//	client, err := link.Connect(ctx, "redis://127.0.0.1:6379") // for a command
//	l, err := link.New(ctx, "redis://127.0.0.1:6379", "host-1") // for a worker: one connection for calls and messages
package link
