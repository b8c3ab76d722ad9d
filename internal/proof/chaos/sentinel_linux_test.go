package chaos

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/loadctl/loadctl/internal/proof/redistest"
)

// failedOver is the least share of the rate in each second while another server takes over, before and after.
const failedOver = 0.85

// watched starts a master with two replicas and three Sentinels.
func watched(s *stage, o redistest.WatchedOptions) *redistest.Watched {
	s.t.Helper()
	o.Replicas = 2
	o.Sentinel = append([]string{"sentinel down-after-milliseconds " + redistest.MasterName + " 1000"}, o.Sentinel...)
	w := redistest.StartWatched(s.t, o)
	s.redis, s.url = w.Servers[0], w.URL()
	return w
}

// sentinelScenarios: Sentinel makes a replica the master, because the old one is gone or by command.
func sentinelScenarios() []scenario {
	var w *redistest.Watched
	place := func(s *stage) { w = watched(s, redistest.WatchedOptions{}) }
	takenOver := func(s *stage) {
		s.redis = w.Master(s.t, s.redis)
		s.promise(s.fault-int64(time.Second), s.ends(), failedOver)
	}
	return []scenario{
		{name: "Sentinel: the master is killed", permit: 10 * time.Second, lasts: 11 * time.Second, place: place, play: func(s *stage) {
			s.breaks()
			s.redis.Kill()
			takenOver(s)
		}},
		{name: "Sentinel: the master is killed, the replicas are 1 s behind", permit: 10 * time.Second, lasts: 12 * time.Second, place: place, play: func(s *stage) {
			heal := s.dropAll("iifname lo tcp sport "+s.port()+" tcp dport { "+strings.Join(replicaPorts(s), ", ")+" }", "")
			s.last(time.Second)
			s.behind(w.Servers[1:])
			s.breaks()
			s.redis.Kill()
			takenOver(s)
			heal()
		}},
		{name: "Sentinel: SENTINEL FAILOVER", when: always, lasts: 9 * time.Second, place: place, play: func(s *stage) {
			s.breaks()
			if err := w.Sentinels[0].Client().Do(s.t.Context(), "SENTINEL", "FAILOVER", redistest.MasterName).Err(); err != nil {
				s.t.Fatal(err)
			}
			takenOver(s)
		}},
		{
			name: "Sentinel: a partition with two masters, 3 of 8 with the old one", cut: 3, permit: 10 * time.Second, lasts: 20 * time.Second,
			place: func(s *stage) {
				// The old master refuses to write before Sentinel makes a new one.
				fenced := append([]string{"--min-replicas-to-write", "1", "--min-replicas-max-lag", "2"}, s.scenario.redis...)
				w = watched(s, redistest.WatchedOptions{Host: hub, Server: fenced, Sentinel: []string{"sentinel down-after-milliseconds " + redistest.MasterName + " 4000"}})
			},
			play: func(s *stage) {
				s.breaks()
				heal := s.partition(hub)
				old := s.redis.Client()
				takenOver(s)
				if role := old.Do(s.t.Context(), "ROLE").String(); !strings.Contains(role, "master") {
					s.t.Errorf("the old master is none any more: %s", role)
				}
				if err := old.Set(s.t.Context(), "key", "value", 0).Err(); err == nil || !strings.Contains(err.Error(), "NOREPLICAS") {
					s.t.Errorf("the old master takes writes: %v", err)
				}
				s.last(2 * time.Second)
				heal()
			},
		},
	}
}

// replicaPorts are the ports from which replicas are connected to the master.
func replicaPorts(s *stage) (ports []string) {
	s.t.Helper()
	list := s.redis.Client().Do(s.t.Context(), "CLIENT", "LIST", "TYPE", "replica").String()
	for _, m := range regexp.MustCompile(` addr=\S+:(\d+) `).FindAllStringSubmatch(list, -1) {
		ports = append(ports, m[1])
	}
	if len(ports) == 0 {
		s.t.Fatalf("no replicas: %s", list)
	}
	return ports
}

// behind checks that the replicas lack some writes of the master.
func (s *stage) behind(replicas []*redistest.Server) {
	s.t.Helper()
	done := func(x *redistest.Server) int {
		n, err := strconv.Atoi(x.Client().InfoMap(s.t.Context(), "replication").Item("Replication", "master_repl_offset"))
		if err != nil {
			s.t.Fatal(err)
		}
		return n
	}
	for _, x := range replicas {
		if have, all := done(x), done(s.redis); have >= all {
			s.t.Errorf("the replica has %d of %d bytes: it lacks nothing", have, all)
		}
	}
}

// dropAll drops matching packets on their way in: in the test's network and, if some workers can be cut off, in
// theirs. The returned function ends that.
func (s *stage) dropAll(outside, inside string) (heal func()) {
	s.t.Helper()
	n := s.network
	if n == nil {
		n = &network{t: s.t}
	}
	n.rule(n.outside, outside, all)
	if inside != "" {
		n.rule(n.inside, inside, all)
	}
	return func() {
		s.t.Helper()
		n.rule(n.outside, "", "")
		if inside != "" {
			n.rule(n.inside, "", "")
		}
	}
}

// partition isolates the workers that can be cut off, together with the master. They still reach the target. Other
// servers may share the master's address.
func (s *stage) partition(address string) (heal func()) {
	s.t.Helper()
	target, err := url.Parse(s.web.URL())
	if err != nil {
		s.t.Fatal(err)
	}
	at, stay := "", "{ "+s.port()+", "+target.Port()+" }"
	if address == hub {
		at = " tcp dport " + s.port()
	}
	from := strings.ReplaceAll(at, "dport", "sport")
	return s.dropAll("iifname lo ip daddr "+address+at+" drop; iifname lo ip saddr "+address+from+" drop; iifname hub tcp dport != "+stay, "tcp sport != "+stay)
}
