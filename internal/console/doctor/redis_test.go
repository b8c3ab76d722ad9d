package doctor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/link"
	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
)

const secret = "hunter2"

// diagnosed returns the findings about a server by check. The checks must leave its keys unchanged.
func diagnosed(t *testing.T, client, admin rdb.Client) map[string]Finding {
	t.Helper()
	before := keys(t, admin)
	findings := map[string]Finding{}
	for _, f := range Redis(t.Context(), client, 0) {
		findings[f.Check] = f
		if strings.Contains(fmt.Sprintf("%+v", f), secret) {
			t.Errorf("the password is shown: %+v", f)
		}
	}
	if after := keys(t, admin); !slices.Equal(after, before) {
		t.Errorf("before %q, after %q", before, after)
	}
	return findings
}

// keys returns all keys, and the runs in the list of runs.
func keys(t *testing.T, client rdb.Client) []string {
	t.Helper()
	all, err := client.Keys(t.Context(), "*").Result()
	runs, err2 := client.ZRange(t.Context(), "load:runs", 0, -1).Result()
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	slices.Sort(all)
	return append(all, runs...)
}

// states checks the states of some checks, and that all others are ok.
func states(t *testing.T, findings map[string]Finding, want map[string]string) {
	t.Helper()
	if len(findings) != len(serverChecks()) {
		t.Errorf("%d findings: %v", len(findings), findings)
	}
	for check, f := range findings {
		state := OK
		if other, named := want[check]; named {
			state = other
		} else if check == "round trip" {
			state = judged(t, f)
		}
		wants(t, check, f, state)
	}
}

// judged returns the state of a finding about round trips that follows from its figures. A slow machine has slow ones.
func judged(t *testing.T, f Finding) string {
	t.Helper()
	m := regexp.MustCompile(`median (\S+), worst (\S+) of \d+`).FindStringSubmatch(f.Found)
	if m == nil {
		t.Fatalf("no figures: %+v", f)
	}
	median, err := time.ParseDuration(m[1])
	worst, err2 := time.ParseDuration(m[2])
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	return judgeRoundTrips([]time.Duration{median, median, worst}).State
}

func TestServers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want map[string]string
		says map[string]string
	}{
		{[]string{"--appendonly", "yes"}, nil, map[string]string{"persistence": "appendonly yes", "role": "master", "replication": "no replicas"}},
		{[]string{"--save", "3600 1"}, nil, map[string]string{"persistence": "save 3600 1"}},
		{nil, map[string]string{"persistence": Warn}, map[string]string{"persistence": "CONFIG SET appendonly yes", "memory": "no limit"}},
		{
			[]string{"--save", "3600 1", "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"},
			map[string]string{"eviction": Bad}, map[string]string{"eviction": "CONFIG SET maxmemory-policy noeviction"},
		},
		{[]string{"--save", "3600 1", "--maxmemory", "100mb", "--maxmemory-policy", "volatile-lru"}, map[string]string{"eviction": Bad}, nil},
		{[]string{"--save", "3600 1", "--maxmemory", "100mb"}, nil, map[string]string{"eviction": "noeviction"}},
		{
			[]string{"--save", "3600 1", "--maxmemory", "500kb"},
			map[string]string{"memory": Warn, "scripts": Bad}, map[string]string{"scripts": "CONFIG SET maxmemory"},
		},
		{
			[]string{"--save", "3600 1", "--min-replicas-to-write", "1"},
			map[string]string{"scripts": Bad}, map[string]string{"scripts": "bring its replicas back"},
		},
		{[]string{"--save", "3600 1", "--rename-command", "CONFIG", ""}, map[string]string{"persistence": Warn}, map[string]string{"persistence": "were not checked"}},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, c.args...)
			findings := diagnosed(t, server.Client(), server.Client())
			states(t, findings, c.want)
			for check, text := range c.says {
				wants(t, check, findings[check], findings[check].State, text)
			}
			wants(t, "reachable", findings["reachable"], OK, server.Addr())
		})
	}
}

// TestOtherRunsStay: the checks leave other runs alone.
func TestOtherRunsStay(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	if err := client.Set(t.Context(), "key", "value", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if err := client.ZAdd(t.Context(), "load:runs", redis.Z{Score: 1, Member: "other"}).Err(); err != nil {
		t.Fatal(err)
	}
	states(t, diagnosed(t, client, client), map[string]string{"persistence": Warn})
	if n := len(keys(t, client)); n != 3 {
		t.Errorf("%d keys and runs", n)
	}
}

func TestEmbedded(t *testing.T) {
	t.Parallel()
	client := redistest.Embedded(t)
	findings := diagnosed(t, client, client)
	states(t, findings, map[string]string{"persistence": Warn})
	for _, check := range []string{"version", "role", "eviction", "memory", "replication"} {
		wants(t, check, findings[check], OK, "unknown")
	}
}

func TestReplica(t *testing.T) {
	t.Parallel()
	master := redistest.Start(t, "--save", "3600 1")
	replica := redistest.Start(t, "--save", "3600 1", "--replicaof", strings.ReplaceAll(master.Addr(), ":", " "))
	await.True(t, "the replica has a copy", func() bool {
		return strings.Contains(replica.Client().Info(t.Context(), "replication").Val(), "master_link_status:up") &&
			strings.Contains(master.Client().Info(t.Context(), "replication").Val(), "state=online")
	})
	findings := diagnosed(t, replica.Client(), replica.Client())
	states(t, findings, map[string]string{"role": Bad, "scripts": Bad})
	wants(t, "role", findings["role"], Bad, "give the address of the master, "+master.Addr())
	wants(t, "scripts", findings["scripts"], Bad, "READONLY", "give the address of its master")

	findings = diagnosed(t, master.Client(), master.Client())
	states(t, findings, map[string]string{"replication": Warn})
	wants(t, "replication", findings["replication"], Warn, "1 attached", "CONFIG SET min-replicas-to-write 1")
	if err := master.Client().ConfigSet(t.Context(), "min-replicas-to-write", "1").Err(); err != nil {
		t.Fatal(err)
	}
	states(t, diagnosed(t, master.Client(), master.Client()), nil)
}

// as returns a client of a user with these permissions.
func as(t *testing.T, server *redistest.Server, name, rules string) rdb.Client {
	t.Helper()
	args := []any{"ACL", "SETUSER", name, "on", ">" + secret}
	for rule := range strings.FieldsSeq(rules) {
		args = append(args, rule)
	}
	if err := server.Client().Do(t.Context(), args...).Err(); err != nil {
		t.Fatal(err)
	}
	client, err := link.Connect(t.Context(), "redis://"+name+":"+secret+"@"+server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

func TestUsers(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--save", "3600 1")
	const everything = "~* &* +@all "
	untold := map[string]string{
		"version": Warn, "role": Warn, "eviction": Warn, "memory": Warn, "connections": Warn, "persistence": Warn, "replication": Warn, "identity": Warn,
	}
	for _, c := range []struct {
		rules string
		want  map[string]string
	}{
		{everything, nil},
		{WorkerPermissions, map[string]string{"persistence": Warn}},
		{OperatorPermissions, map[string]string{"persistence": Warn}},
		{everything + "-info", map[string]string{"version": Warn, "role": Warn, "memory": Warn, "replication": Warn, "identity": Warn}},
		{everything + "-config", map[string]string{"persistence": Warn}},
		{everything + "-info -config", untold},
		{everything + "-eval", map[string]string{"clock": Warn, "identity": Warn}}, // the server knows our scripts by now
		{everything + "-publish", map[string]string{"wake-ups": Warn}},
		{everything + "-subscribe", map[string]string{"wake-ups": Warn}},
		{everything + "resetchannels", map[string]string{"wake-ups": Warn}},
		// From here on the scratch run fails half-way.
		{everything + "-evalsha", map[string]string{"scripts": Bad}},
		{everything + "-set", map[string]string{"scripts": Bad}},
		{everything + "-hset", map[string]string{"scripts": Bad}},
		{everything + "-xadd", map[string]string{"scripts": Bad}},
		{everything + "-zadd", map[string]string{"scripts": Bad}},
		{everything + "-hgetall", map[string]string{"scripts": Bad, "budgets": Warn}},
		{everything + "-hincrby -hdel", nil},                               // only used where something is wrong
		{"resetkeys ~{load:* &* +@all", map[string]string{"scripts": Bad}}, // not the list of runs
	} {
		t.Run(c.rules, func(t *testing.T) {
			client := as(t, server, "user-"+run.NewID(), c.rules)
			findings := diagnosed(t, client, server.Client())
			states(t, findings, c.want)
			for check, state := range c.want {
				mend := []string{"ACL SETUSER NAME " + WorkerPermissions, operatorsOwn}
				if check == "persistence" && c.want["version"] == "" { // only CONFIG is missing, and nobody should have that
					mend = []string{"not checked", "as an administrator: redis-cli CONFIG GET save"}
				}
				wants(t, check, findings[check], state, mend...)
			}
		})
	}
}

func TestWrongPassword(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--requirepass", "right")
	for _, c := range []struct{ user, says string }{{"", "NOAUTH"}, {":" + secret + "@", "WRONGPASS"}} {
		_, err := link.Connect(t.Context(), "redis://"+c.user+server.Addr())
		if err == nil {
			t.Fatal("connected")
		}
		f := Unreachable(err)
		wants(t, c, f, Bad, c.says, "into the URL, redis://", server.Addr())
		if f.Check != "reachable" || strings.Contains(f.Found+f.Mend, secret) {
			t.Errorf("%+v", f)
		}
	}
	_, err := link.Connect(t.Context(), "redis://127.0.0.1:"+strconv.Itoa(redistest.FreePort(t)))
	if f := Unreachable(err); strings.Contains(f.Found, "--redis") {
		t.Errorf("%+v says twice what to do", f)
	}
	wants(t, "closed", Unreachable(err), Bad, "refused", "start the server, or check --redis")
}

// hook does something before a command is sent.
type hook func(ctx context.Context, cmd redis.Cmder)

func (h hook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		h(ctx, cmd)
		return next(ctx, cmd)
	}
}

func (h hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// before does something once, before a command is sent.
func before(client rdb.Client, is func(redis.Cmder) bool, do func()) {
	done := false
	client.AddHook(hook(func(_ context.Context, cmd redis.Cmder) {
		if is(cmd) && !done {
			done = true
			do()
		}
	}))
}

func message(cmd redis.Cmder) bool { return cmd.Name() == "publish" }

// renewal: the scratch run exists, and is about to be joined. Among our scripts, that of renewals has 8 keys.
func renewal(cmd redis.Cmder) bool {
	return cmd.Name() == "evalsha" && fmt.Sprint(cmd.Args()[2]) == "8"
}

// TestHangingServer: it may hang before the first check, or in the middle of the scratch run.
func TestHangingServer(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]func(rdb.Client, *redistest.Server){
		"from the start": func(_ rdb.Client, s *redistest.Server) { s.Pause() },
		"no wake-up":     func(c rdb.Client, s *redistest.Server) { before(c, message, s.Pause) },
		"half-way":       func(c rdb.Client, s *redistest.Server) { before(c, renewal, s.Pause) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			at(server.Client(), server)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			began := time.Now()
			findings := Redis(ctx, server.Client(), 0)
			await.Soon(t, "an examination of 1 s", time.Since(began), 5*time.Second)
			last := findings[len(findings)-1]
			wants(t, name, last, Bad)
			if name == "from the start" && len(findings) != 1 {
				t.Errorf("%+v", findings)
			}
			server.Resume()
			for _, key := range keys(t, server.Client()) {
				if !strings.HasPrefix(key, "{load:") {
					continue
				}
				const endless = -1 // it may also be gone by now
				if ttl := server.Client().PTTL(t.Context(), key).Val(); ttl == endless || ttl > scratchLife {
					t.Errorf("%s ends in %v", key, ttl)
				}
			}
		})
	}
}

// TestInterrupted: Ctrl-C in the middle of the scratch run leaves no trace of it.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, client rdb.Client) {
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		existed := 0
		before(client, renewal, func() {
			existed = len(keys(t, client))
			cancel(errors.New("enough"))
		})
		findings := Redis(ctx, client, 0)
		wants(t, "scripts", findings[len(findings)-1], Bad)
		if left := keys(t, client); existed == 0 || len(left) != 0 {
			t.Errorf("%d keys half-way, left are %q", existed, left)
		}
	})
}

func TestCluster(t *testing.T) {
	t.Parallel()
	good := redistest.Start(t, "--cluster-enabled", "yes", "--save", "3600 1")
	evil := redistest.Start(t, "--cluster-enabled", "yes", "--save", "3600 1", "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lfu")
	host, port, err := net.SplitHostPort(evil.Addr())
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		good.Client().ClusterMeet(t.Context(), host, port).Err(),
		good.Client().ClusterAddSlotsRange(t.Context(), 0, 8191).Err(),
		evil.Client().ClusterAddSlotsRange(t.Context(), 8192, 16383).Err(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range []*redistest.Server{good, evil} {
		await.True(t, "the cluster is whole", func() bool {
			return strings.Contains(s.Client().ClusterInfo(t.Context()).Val(), "cluster_state:ok")
		})
	}
	client, err := link.Connect(t.Context(), good.URL()[:len(good.URL())-2]+"?addr="+evil.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	findings := map[string]Finding{}
	for _, f := range Redis(t.Context(), client, 0) {
		findings[f.Check] = f
	}
	wants(t, "cluster", findings["cluster"], OK, "all 2 masters: all hash slots are served")
	delete(findings, "cluster") // a server alone has none
	states(t, findings, map[string]string{"eviction": Bad})
	wants(t, "eviction", findings["eviction"], Bad, evil.Addr()+": allkeys-lfu")
	// What one node forbids is reported for that node: each node has its own scratch run.
	if err := evil.Client().Do(t.Context(), "ACL", "SETUSER", "default", "-evalsha", "-eval").Err(); err != nil {
		t.Fatal(err)
	}
	for _, f := range Redis(t.Context(), client, 0) {
		if f.Check == "scripts" {
			wants(t, "scripts", f, Bad, evil.Addr()+": ", "evalsha")
		}
	}
	for _, s := range []*redistest.Server{good, evil} {
		if left := s.Client().Keys(t.Context(), "*").Val(); len(left) != 0 {
			t.Errorf("left are %q", left)
		}
	}
}
