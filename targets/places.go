package targets

import (
	"math/rand/v2"
	"time"

	"github.com/loadctl/loadctl/targets/template"
)

// places are what all requests of a process have in common when their places are filled.
type places struct {
	seed   uint64
	worker string
}

func newPlaces(local Local) places { return places{rand.Uint64(), local.Worker} }

// request returns what fills the places of a request that begins now.
func (p *places) request(number uint64) template.Request {
	return template.Request{Number: number, Time: time.Now().UnixNano(), Worker: p.worker, Seed: p.seed}
}
