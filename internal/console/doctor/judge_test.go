package doctor

import (
	"testing"
	"time"
)

// told is a server with this answer to INFO.
func told(info map[string]string) *server { return &server{info: info} }

func TestVersion(t *testing.T) {
	for text, state := range map[string]string{
		"6.2.0": OK, "6.2": OK, "7.0.15": OK, "10.0.0": OK, "255.255.255": OK, "6.1.9": Bad, "5.0.7": Bad, "2.8.17": Bad, "unstable": OK, "": OK,
	} {
		f := version(t.Context(), told(map[string]string{"redis_version": text}))
		if f.State != state {
			t.Errorf("%q: %+v", text, f)
		}
	}
	wants(t, "nothing", version(t.Context(), told(map[string]string{})), OK, "unknown")
}

func TestRole(t *testing.T) {
	for _, c := range []struct {
		info  map[string]string
		state string
		says  string
	}{
		{map[string]string{"role": "master", "redis_mode": "standalone"}, OK, "master"},
		{map[string]string{"role": "slave", "master_host": "::1", "master_port": "6379", "slave_read_only": "1"}, Bad, "address of the master, [::1]:6379"},
		{map[string]string{"role": "slave", "slave_read_only": "0"}, Bad, "address of the master"},
		{map[string]string{"role": "replica"}, Bad, "replica"},
		{map[string]string{"redis_mode": "sentinel"}, Bad, "master that it watches"},
		{map[string]string{}, OK, "unknown"},
	} {
		wants(t, c, role(t.Context(), told(c.info)), c.state, c.says)
	}
}

func TestMemory(t *testing.T) {
	for _, c := range []struct {
		used, limit, policy string
		eviction, memory    string
	}{
		{"1000000", "0", "allkeys-lru", OK, OK}, // no limit: nothing is ever evicted
		{"900000", "1000000", "noeviction", OK, OK},
		{"900001", "1000000", "noeviction", OK, Warn},
		{"1", "1000000", "volatile-ttl", Bad, OK},
		{"1", "1000000", "allkeys-random", Bad, OK},
	} {
		s := told(map[string]string{"used_memory": c.used, "maxmemory": c.limit, "maxmemory_policy": c.policy})
		wants(t, c, eviction(t.Context(), s), c.eviction)
		wants(t, c, memory(t.Context(), s), c.memory)
	}
	s := told(map[string]string{"used_memory": "much", "maxmemory": "10G"})
	wants(t, "words", eviction(t.Context(), s), OK, "unknown")
	wants(t, "words", memory(t.Context(), s), OK, "unknown")
}

func TestRoundTrips(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		took  []time.Duration
		state string
		says  string
	}{
		{[]time.Duration{3 * ms, ms, 2 * ms}, OK, "median 2ms, worst 3ms of 3"},
		{[]time.Duration{50 * ms}, OK, "median 50ms"},
		{[]time.Duration{51 * ms, 51 * ms, ms}, Warn, "nearer to the workers"},
		{[]time.Duration{ms, ms, 251 * ms}, Warn, "stood still"},
		{[]time.Duration{250 * ms, 250 * ms}, Warn, "late"},
		{[]time.Duration{251 * ms, ms, 251 * ms}, Warn, "repeats its first call"},
		{[]time.Duration{349 * ms}, Warn, "take effect late"},
		{[]time.Duration{350 * ms}, Bad, "cannot report"},
		{[]time.Duration{1234567 * time.Microsecond}, Bad, "median 1.23s"},
		{[]time.Duration{123456}, OK, "median 123µs"},
	} {
		wants(t, c, judgeRoundTrips(c.took), c.state, c.says)
	}
}

func TestClock(t *testing.T) {
	at := func(redis, here, took time.Duration) reading {
		start := time.Unix(1_700_000_000, 0)
		return reading{start.Add(redis), start.Add(here), took}
	}
	const s = time.Second
	for _, c := range []struct {
		name     string
		readings []reading
		state    string
		says     string
	}{
		{"good", []reading{at(0, 0, 1), at(s, s, 1)}, OK, "0s off"},
		{"a second is nothing", []reading{at(0, s, 1), at(s, 2*s, 1)}, OK, "1s off"},
		{"ahead", []reading{at(0, 3*s, 1), at(s, 4*s, 1)}, Warn, "3s ahead"},
		{"behind", []reading{at(3*s, 0, 1), at(4*s, s, 1)}, Warn, "3s behind"},
		{"the fastest call is believed", []reading{at(0, 0, 2), at(s, s, 1), at(2*s, 9*s, 3)}, OK, "0s off"},
		{"back", []reading{at(0, 0, 1), at(2*s, s, 1), at(s, 2*s, 1)}, Bad, "back by 1s"},
		{"stands still", []reading{at(0, 0, 1), at(0, s, 1)}, Bad, "stands still"},
	} {
		wants(t, c.name, judgeClock(c.readings), c.state, c.says)
	}
	for _, text := range [][]string{nil, {"1"}, {"0", "0"}, {"-1", "0"}, {"x", "0"}, {"1", "x"}, {"1", "2", "3"}} {
		if at, err := parseTime(text); err == nil {
			t.Errorf("%q: %v", text, at)
		}
	}
	if at, err := parseTime([]string{"1700000000", "250000"}); err != nil || at.UnixMicro() != 1_700_000_000_250_000 {
		t.Errorf("%v, %v", at, err)
	}
}

// answer is an error that a server answers with.
type answer string

func (a answer) Error() string { return string(a) }
func (answer) RedisError()     {}

func TestRemedy(t *testing.T) {
	for text, says := range map[string]string{
		"MISCONF Redis is configured to save":    "cannot write to its disk",
		"NOREPLICAS Not enough good replicas":    "min-replicas-to-write",
		"LOADING Redis is loading the dataset":   "wait a moment",
		"ERR unknown command 'CONFIG', with …":   "Redis 6.2 or newer",
		"ERR Unknown command called from script": "Redis 6.2 or newer",
		"NOPERM this user has no permissions":    "ACL SETUSER",
		"the room is too small":                  "otherwise",
	} {
		wants(t, text, bad(text, remedy(answer(text), "otherwise")), Bad, says)
	}
}

func TestWorstOfACluster(t *testing.T) {
	nodes := map[string][]Finding{
		"b:1": {ok("b").of("reachable"), bad("old", "m").of("version")},
		"a:1": {ok("a").of("reachable"), warn("so so", "m").of("version"), ok("master").of("role")},
		"c:1": {bad("gone", "m").of("reachable")},
	}
	got := worst(nodes)
	want := []Finding{bad("c:1: gone", "m").of("reachable"), bad("b:1: old", "m").of("version"), ok("1 of 3 masters: master").of("role")}
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%+v, want %+v", got[i], want[i])
		}
	}
}
