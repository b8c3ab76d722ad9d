package chaos

import (
	"os"
	"syscall"
	"time"
)

// workerScenarios: one of the workers is in trouble.
func workerScenarios() []scenario {
	frozen := func(d time.Duration) func(s *stage) {
		return func(s *stage) {
			s.breaks()
			s.frozen = s.fleet[2]
			s.frozen.freeze()
			s.last(d)
			s.frozen.signal(syscall.SIGCONT)
		}
	}
	return []scenario{
		{name: "worker killed", when: daily, lasts: 11 * time.Second, play: func(s *stage) {
			s.breaks()
			s.kill(s.fleet[2])
			s.promise(s.fault+int64(s.permit+time.Second), s.ends(), enough)
		}},
		{name: "worker killed, workers rm", lasts: 8 * time.Second, play: func(s *stage) {
			s.breaks()
			s.kill(s.fleet[2])
			s.last(2200 * time.Millisecond) // it counts as alive until it has missed some renewals
			s.loadctl("workers", "rm", name, "w3")
			s.promise(s.web.Now()+int64(600*time.Millisecond), s.ends(), enough) // its ranges are free half a second later
		}},
		{name: "worker frozen for 3 s", lasts: 9 * time.Second, play: frozen(3 * time.Second)},
		{name: "worker frozen for 7 s, beyond its lease", lasts: 12 * time.Second, play: frozen(7 * time.Second)},
		{name: "worker leaves", lasts: 7 * time.Second, play: func(s *stage) {
			s.breaks()
			s.fleet[2].signal(os.Interrupt)
			s.interrupted = s.fleet[2]
			s.promise(s.fault-int64(time.Second), s.fault+int64(3*time.Second), enough)
		}},
	}
}
