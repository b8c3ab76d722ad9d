package sim

import (
	"fmt"
	"time"

	"github.com/loadctl/loadctl/internal/proof/model"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
)

const endless = pacer.Endless

// RightsPlan is what happens to the rights of the run to send at an endpoint that others share.
type RightsPlan struct {
	Last    time.Duration // how long they last
	Away    []Span        // nobody renews them
	Freezes []Span        // the endpoint is frozen
	Slow    time.Duration // from a reading of the rights to the time when they are replaced, at most
}

// granted is when rights were stored, and when they end, ns of true time.
type granted struct{ at, ends int64 }

// firstRights returns those that the run is made with.
func (w *world) firstRights() model.Bound {
	if w.Rights == nil {
		return model.Bound{}
	}
	until := (zero + w.Now + int64(w.Skew) + int64(w.Rights.Last)) / 1000
	if w.server != nil { // a worker restores what it knows: the server doubts it
		until = 0
	}
	return model.Bound{Rights: "0", Allow: (&lease.Plan{Pieces: w.Options.Pieces}).Peak(), Until: until}
}

// keepRights renews the rights, once a second.
func (s *server) keepRights() {
	if s.rights == nil {
		s.rights = []granted{{0, int64(s.Rights.Last)}}
	}
	s.after(time.Second, s.keepRights)
	if within(s.Now, s.Rights.Away) {
		return
	}
	s.do(func() {
		if s.run == nil {
			return
		}
		read := s.run.Right(s.redis(), model.RightCall{})
		allow := read.High
		if s.rng.IntN(2) == 0 {
			allow += s.rng.Int64N(3_000_000_000)
		}
		s.after(time.Duration(s.rng.Int64N(int64(s.Rights.Slow))), func() { s.do(func() { s.store(read, allow) }) })
	})
}

// store replaces the rights that were read.
func (s *server) store(read model.RightAnswer, allow int64) {
	if s.run == nil {
		return
	}
	n := len(s.rights)
	c := model.RightCall{Store: true, Identity: read.Identity, Was: read.Bound.Rights, Latest: read.Now + s.Rights.Last.Microseconds(),
		Bound:  model.Bound{Rights: fmt.Sprint(n), Allow: allow, Until: read.Now + s.Rights.Last.Microseconds()},
		Frozen: within(s.Now, s.Rights.Freezes)}
	if a := s.run.Right(s.redis(), c); a.Status == "OK" {
		s.rights = append(s.rights, granted{s.Now, c.Bound.Until*1000 - zero - s.skew})
	}
}

// checkRights checks that nobody sent anything after the rights had ended. Clocks of two servers differ by up to a second.
func (w *world) checkRights(r *Result) {
	if w.Rights == nil {
		return
	}
	for _, x := range w.sends {
		if x.late || x.again {
			continue
		}
		ends := int64(0)
		for _, g := range w.server.rights {
			if g.at <= x.at {
				ends = max(ends, g.ends)
			}
		}
		if x.at > ends+int64(time.Second) {
			r.Errors = append(r.Errors, fmt.Sprintf("a slot was sent at %v, and the rights ended at %v", time.Duration(x.at), time.Duration(ends)))
			return
		}
	}
}

// rights lets the rights of the run end, come back, and be frozen, in a storm.
func (d draw) rights() {
	d.storm()
	d.Steps, d.Stops = nil, false // then a worker does not know when a lease is over
	hold := time.Duration(d.Options.PermitFor) * time.Microsecond
	d.Rights = &RightsPlan{Last: hold + d.between(time.Second, 4*time.Second), Slow: d.between(time.Millisecond, 3*time.Second)}
	for range d.rng.IntN(3) {
		d.Rights.Away = append(d.Rights.Away, d.stretch(2*hold))
	}
	for range d.rng.IntN(3) {
		d.Rights.Freezes = append(d.Rights.Freezes, d.stretch(5*time.Second))
	}
	for n := range d.rng.IntN(4) {
		c := Command{At: d.between(2*time.Second, d.Length) + time.Duration(n), Kind: []string{"scale", "cap"}[n%2], Factor: 1 + d.rng.Int64N(1_000_000)}
		d.Commands = append(d.Commands, c)
	}
}
