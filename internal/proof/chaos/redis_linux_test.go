package chaos

import (
	"fmt"
	"time"

	"github.com/loadctl/loadctl/internal/proof/redistest"
)

// redisScenarios: Redis is silent or refuses, but keeps its data.
func redisScenarios() []scenario {
	frozen := func(d time.Duration) func(s *stage) {
		return func(s *stage) {
			s.breaks()
			s.redis.Pause()
			s.last(d)
			s.redis.Resume()
		}
	}
	return []scenario{
		{name: "Redis frozen for 0.2 s", lasts: 6 * time.Second, play: frozen(200 * time.Millisecond)},
		{name: "Redis frozen for 2 s", when: daily, lasts: 7 * time.Second, play: frozen(2 * time.Second)},
		{name: "Redis frozen for 2 s, 6 workers", workers: 6, lasts: 8 * time.Second, play: func(s *stage) {
			frozen(2 * time.Second)(s)
			s.promise(s.fault-int64(time.Second), s.fault+int64(3*time.Second), 0.88)
		}},
		{name: "Redis frozen for 5 s, as long as leases", lasts: 11 * time.Second, play: frozen(5 * time.Second)},
		{name: "Redis frozen for 20 s", lasts: 26 * time.Second, play: frozen(20 * time.Second)},
		{name: "DEBUG SLEEP 2", redis: []string{"--enable-debug-command", "yes"}, lasts: 7 * time.Second, play: func(s *stage) {
			s.breaks()
			s.do("DEBUG", "SLEEP", "2")
		}},
		{name: "CLIENT PAUSE 2000 ALL", lasts: 7 * time.Second, play: func(s *stage) {
			s.breaks()
			s.do("CLIENT", "PAUSE", "2000", "ALL")
		}},
		{name: "SCRIPT FLUSH, five times", lasts: 6 * time.Second, play: func(s *stage) {
			s.breaks()
			for range 5 {
				s.do("SCRIPT", "FLUSH")
				s.last(200 * time.Millisecond)
			}
		}},
		{name: "memory full for 3 s", lasts: 8 * time.Second, play: func(s *stage) {
			s.breaks()
			s.do("CONFIG", "SET", "maxmemory", "1")
			s.last(3 * time.Second)
			s.do("CONFIG", "SET", "maxmemory", "0")
		}},
		{name: "read-only for 2 s", lasts: 7 * time.Second, play: func(s *stage) {
			s.breaks()
			s.do("REPLICAOF", "127.0.0.1", fmt.Sprint(redistest.FreePort(s.t)))
			s.last(2 * time.Second)
			s.do("REPLICAOF", "NO", "ONE")
		}},
	}
}

// do runs a command of Redis.
func (s *stage) do(words ...any) {
	s.t.Helper()
	if err := s.redis.Client().Do(s.t.Context(), words...).Err(); err != nil {
		s.t.Errorf("%v: %v", words, err)
	}
}
