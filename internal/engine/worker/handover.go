package worker

import (
	"sync/atomic"

	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/targets"
)

// handover exchanges a shard's recorder for an empty one, once a second. Each shard has two recorders. The publisher
// offers the empty one. At its next turn the shard takes it and gives the full one. The channel has room for one, so
// the shard never waits, and there is never more than one offer.
type handover struct {
	offer atomic.Pointer[record.Recorder]
	full  chan *record.Recorder
	spare *record.Recorder // the publisher's, empty
}

func newHandover() handover {
	return handover{full: make(chan *record.Recorder, 1), spare: record.NewRecorder()}
}

// countSteps makes both recorders count the steps of a mix. Call it before run.
func (s *shard) countSteps(mix *targets.Mix) {
	s.mix = mix
	if mix.Walks() {
		s.walks = newWalks(mix)
	}
	s.recorder, s.handover.spare = record.NewRecorder(mix.Names()...), record.NewRecorder(mix.Names()...)
}

// step returns the step that a slot begins a flow with; 0 without a mix.
func (s *shard) step(number uint64) int {
	switch {
	case s.mix == nil:
		return 0
	case s.walks != nil && s.walks.each:
		number = s.walks.turn(number)
	}
	return s.mix.Step(number)
}

// exchange is the shard's side. It returns the recorder to use from now on.
func (h *handover) exchange(current *record.Recorder) *record.Recorder {
	if h.offer.Load() == nil {
		return current
	}
	empty := h.offer.Swap(nil) // before the full one goes: then the next offer may come
	h.full <- current
	return empty
}

// collect is the publisher's side. It calls note with what the shard recorded since the last call, and empties
// that. It waits for the shard's next turn.
func (s *shard) collect(note func(*record.Recorder)) {
	take := func(full *record.Recorder) {
		note(full)
		full.Reset()
		s.handover.spare = full
	}
	select {
	case <-s.exited: // look here first: the shard may be gone
	default:
		s.handover.offer.Store(s.handover.spare)
		s.client.Wake()
		select {
		case full := <-s.handover.full:
			take(full)
			return
		case <-s.exited:
		}
	}
	select {
	case full := <-s.handover.full: // exchanged in its last turn
		take(full)
	default:
	}
	s.handover.offer.Store(nil)
	note(s.recorder)
	s.recorder.Reset()
}
