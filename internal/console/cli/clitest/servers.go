package clitest

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
)

// Server is a Redis that refuses something.
type Server struct {
	Name   string
	URL    string     // as the command is given it
	Client rdb.Client // may do everything that the server can do
	Says   []string   // what a message about it says
	Empty  bool       // there was no way to make a run before
	Reads  bool       // what only reads is not refused
	Other  bool       // what was given is right: a command for a run ends with exit code 1
}

// Servers are servers that refuse to write, to run scripts, or everything. On each that can hold one, prepare has made a run before.
func Servers(t *testing.T, prepare func(rdb.Client)) []Server {
	t.Helper()
	plain := redistest.Start(t)
	prepare(plain.Client())
	command(t, plain.Client(), "acl", "setuser", "known", "on", ">right", "allkeys", "allchannels", "+@all")
	command(t, plain.Client(), "acl", "setuser", "unscripted", "on", ">right", "allkeys", "allchannels", "+@all", "-evalsha", "-eval")
	command(t, plain.Client(), "acl", "setuser", "reader", "on", ">right", "allkeys", "allchannels", "+@all", "-@write", "+evalsha", "+eval")
	command(t, plain.Client(), "acl", "setuser", "elsewhere", "on", ">right", "~other:*", "allchannels", "+@all")
	as := func(user string) string { return "redis://" + user + "@" + plain.Addr() }
	const may = "this user may not do that: loadctl doctor shows what is missing"

	full, alone, ancient := redistest.Start(t), redistest.Start(t), redistest.Start(t, "--rename-command", "EVALSHA", "")
	prepare(full.Client())
	command(t, full.Client(), "config", "set", "maxmemory", "1", "maxmemory-policy", "noeviction")
	prepare(alone.Client())
	command(t, alone.Client(), "config", "set", "min-replicas-to-write", "1")
	cluster := redistest.Start(t, "--cluster-enabled", "yes") // it serves no slot
	return []Server{
		{Name: "wrong password", URL: as("known:" + Secret), Client: plain.Client(), Says: []string{"WRONGPASS", "put the right one into the URL"}},
		{Name: "wrong user", URL: as(Secret + ":right"), Client: plain.Client(), Says: []string{"WRONGPASS", "put the right one into the URL"}},
		locked(t),
		replica(t, plain),
		{Name: "no scripts", URL: as("unscripted:right"), Client: plain.Client(), Says: []string{"NOPERM", may}, Reads: true},
		{Name: "no writing", URL: as("reader:right"), Client: plain.Client(), Says: []string{may}, Reads: true},
		{Name: "no keys", URL: as("elsewhere:right"), Client: plain.Client(), Says: []string{"NOPERM", may}},
		{Name: "full", URL: full.URL(), Client: full.Client(), Says: []string{"OOM command not allowed", "raise its maxmemory"}, Reads: true, Other: true},
		{Name: "no replicas", URL: alone.URL(), Client: alone.Client(), Says: []string{"NOREPLICAS", "bring its replicas back"}, Reads: true, Other: true},
		{Name: "no cluster", URL: cluster.URL(), Client: cluster.Client(), Says: []string{"CLUSTERDOWN", "a part of the cluster is missing"}, Empty: true},
		{Name: "no EVALSHA", URL: ancient.URL(), Client: ancient.Client(), Says: []string{"unknown command", "take Redis 6.2 or newer"}, Empty: true, Reads: true},
	}
}

// locked is a server whose password is not given.
func locked(t *testing.T) Server {
	t.Helper()
	s := redistest.Start(t, "--requirepass", "right")
	options, err := redis.ParseURL("redis://:right@" + s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	t.Cleanup(func() { client.Close() })
	return Server{Name: "no password", URL: s.URL(), Client: client, Empty: true, Says: []string{"NOAUTH", "put it into the URL, redis://:PASSWORD@host:port"}}
}

// replica is a read-only copy of a server, with all that it holds.
func replica(t *testing.T, master *redistest.Server) Server {
	t.Helper()
	host, port := "127.0.0.1", master.Addr()[len("127.0.0.1:"):]
	s := redistest.Start(t, "--replicaof", host+" "+port, "--repl-diskless-sync-delay", "0")
	await.True(t, "a replica with a copy", func() bool {
		return s.Client().DBSize(t.Context()).Val() == master.Client().DBSize(t.Context()).Val()
	})
	return Server{Name: "replica", URL: s.URL(), Client: s.Client(), Says: []string{"READONLY", "give the address of its master"}, Reads: true}
}

func command(t *testing.T, client rdb.Client, args ...any) {
	t.Helper()
	if err := client.Do(t.Context(), args...).Err(); err != nil {
		t.Fatalf("%v: %v", args, err)
	}
}
