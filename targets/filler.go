package targets

import (
	"math/rand/v2"
	"time"

	"github.com/loadctl/loadctl/targets/template"
)

// A filler knows what all requests of a process have in common when their placeholders are filled.
type filler struct {
	seed   [2]uint64
	worker string
}

func newFiller(local Local) filler {
	return filler{[2]uint64{rand.Uint64(), rand.Uint64()}, local.Worker}
}

// request returns what fills the placeholders of a request that begins now.
func (f *filler) request(c Call) template.Request {
	return template.Request{Number: c.Number, Time: time.Now().UnixNano(), Worker: f.worker, Seed: f.seed, Taken: c.Session.taken()}
}

// ExampleBody returns the body as it may be sent: with its placeholders filled. A body with a wrong placeholder is
// returned as it is: Validate refuses it.
func (s Spec) ExampleBody() []byte {
	text, err := s.parser(nil)(string(s.Body), saltBody)
	if err != nil {
		return s.Body
	}
	return text.Append(nil, template.Request{})
}
