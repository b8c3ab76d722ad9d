package chaos

import (
	"os"
	"path/filepath"
	"time"
)

// forgetfulScenarios: Redis comes back, and has lost all, some or none of its data.
func forgetfulScenarios() []scenario {
	aof := []string{"--appendonly", "yes", "--appendfsync", "everysec"}
	return []scenario{
		{name: "killed and restarted empty", when: always, lasts: 13 * time.Second, play: func(s *stage) {
			s.breaks()
			s.redis.Kill()
			s.last(500 * time.Millisecond)
			s.redis.Restart()
			s.comesBack()
		}},
		{name: "FLUSHALL", lasts: 13 * time.Second, play: func(s *stage) {
			s.breaks()
			s.do("FLUSHALL")
			s.comesBack()
		}},
		{name: "killed and restarted from its AOF", redis: aof, lasts: 9 * time.Second, play: func(s *stage) {
			s.breaks()
			s.redis.Kill()
			s.last(300 * time.Millisecond)
			s.redis.Restart()
		}},
		{name: "restarted from an AOF without the last second", redis: aof, lasts: 9 * time.Second, play: func(s *stage) {
			file := s.appended()
			before, err := os.Stat(file)
			if err != nil {
				s.t.Fatal(err)
			}
			s.last(time.Second)
			s.breaks()
			s.redis.Kill()
			if err := os.Truncate(file, before.Size()); err != nil { // as if the machine had died too: data that was not synced is lost
				s.t.Fatal(err)
			}
			s.last(300 * time.Millisecond)
			s.redis.Restart()
		}},
	}
}

// comesBack plays the return of a Redis that lost the state. Nothing is granted until no earlier lease can be in
// force. Then everything is as before.
func (s *stage) comesBack() {
	s.promise(s.web.Now()+int64(s.permit+1500*time.Millisecond), s.ends(), enough)
}

// appended is the file that Redis appends its commands to.
func (s *stage) appended() string {
	s.t.Helper()
	all, err := filepath.Glob(filepath.Join(s.redis.Client().ConfigGet(s.t.Context(), "dir").Val()["dir"], "appendonlydir", "*.incr.aof"))
	if err != nil || len(all) != 1 {
		s.t.Fatalf("files with the commands: %v, %v", all, err)
	}
	return all[0]
}
