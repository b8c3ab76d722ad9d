package wire

import (
	"math/rand/v2"
	"time"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/template"
	"github.com/loadctl/loadctl/targets/trace"
)

// A filler knows what all requests of a process have in common when their placeholders are filled.
type filler struct {
	seed   [2]uint64
	worker string
	trace  trace.Source
}

func newFiller(local targets.Local) filler {
	if local.Trace == "" {
		local.Trace = unknownKey()
	}
	return filler{[2]uint64{rand.Uint64(), rand.Uint64()}, local.Worker, trace.New(local.Trace)}
}

// request returns what fills the placeholders of a request that begins now.
func (f *filler) request(c targets.Call) template.Request {
	return template.Request{
		Number: c.Number, Row: c.Row(), Time: time.Now().UnixNano(), Worker: f.worker, Seed: f.seed, Taken: c.Session.Taken(), Trace: f.trace, Step: c.Step,
	}
}
