package spec

import (
	"time"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/targets"
)

// constant is a spec of qps without end.
func constant(qps int64) Spec {
	return Spec{Target: targets.Spec{URL: "noop://"}, QPS: pacer.PerSecond(qps), MaxLag: DefaultMaxLag, CatchUp: DefaultCatchUp, MinWorkers: 1}
}

// losing is a spec with settings for a lost Redis or controller.
func losing(loss string, permit, deadman time.Duration) Spec {
	s := constant(100)
	s.OnRedisLoss, s.PermitFor, s.Deadman = loss, permit, deadman
	return s
}

// closed is the spec of a closed loop.
func closed(d time.Duration) Spec {
	s := constant(0)
	s.Max, s.Duration = true, d
	return s
}

// limited is a spec at a rate with a limiter.
func limited(rate, limiter string, set func(*Spec)) Spec {
	s := constant(0)
	if err := s.QPS.UnmarshalText([]byte(rate)); err != nil {
		panic(err)
	}
	s.Limiter = limiter
	if set != nil {
		set(&s)
	}
	return s
}
