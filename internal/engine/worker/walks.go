package worker

import (
	"container/heap"
	"time"

	"github.com/loadctl/loadctl/targets"
)

// walkTime is how long flows may send at the end of a run, after the last one has started.
const walkTime = 30 * time.Second

// mostWalks bounds the flows of a shard that are between their first and last request. Beyond it no flow starts.
const mostWalks = 1 << 20

// A pause is a flow that waits for its next step.
type pause struct {
	call  targets.Call // of that step
	due   int64        // when it is due
	ready int64        // since when it may be sent: it is due, and the answer before it has come
}

// walks are the flows of a shard whose first request was sent and that have steps left. All times are ns of the local
// clock. A flow is in one place: in timed until its step is ready, in open until it is sent, or on the wire.
type walks struct {
	mix    *targets.Mix
	each   bool  // each request has a slot: a flow waits in timed until a slot is for it
	n      int   // all
	looks  int   // for open steps
	until  int64 // of a run that drains: no step begins after it; 0 = it does not drain
	over   bool  // no step begins any more
	timed  pauses
	open   []openStep // by index of the step
	opened int        // flows in open
	spare  []*targets.Session

	from, begun uint64 // where each request has a slot: the turn of the first flow, and how many have begun
}

// openStep holds the flows whose step is ready, by their turns: in the order in which they started, with their pauses.
//
// After the endpoint stood still, many get ready at once. They leave at twice the pace of their turns:
//
//	plan(i) = max(ready(i), plan(i−1) + (turn(i) − turn(i−1))/2)
//
// One whose turn was earlier than that of another one that has left does not hold back those after it.
type openStep struct {
	waiting      pauses
	plan, latest int64 // of the flow with the latest turn that left: its plan, and its turn
}

func newWalks(mix *targets.Mix) *walks {
	w := &walks{mix: mix, each: mix.SlotEach(), open: make([]openStep, mix.Steps())}
	for i := range w.open {
		w.open[i].waiting.byTurn = true
	}
	return w
}

// turn returns the number that decides which flow a slot begins, where each request has a slot, and which rows it gets. Slots
// that begin flows have gaps between them, which would shift the mix. So the shard takes the flows in turn on its own. The
// ordinal of its first slot says where it begins: so that not all shards have the same rows at the same time.
func (w *walks) turn(ordinal uint64) uint64 {
	if w.begun == 0 {
		w.from = ordinal * 0x9e3779b97f4a7c15 >> 32
	}
	return w.from + w.begun
}

// ready reports whether the step of a flow may be sent at now. The one that is ready longest is the first in timed.
func (w *walks) ready(now int64) bool { return w.timed.Len() > 0 && w.timed.all[0].ready <= now }

// full reports whether a slot cannot be used: it would begin a flow, and there are too many.
func (w *walks) full(now int64) bool { return w.n >= mostWalks && (!w.each || !w.ready(now)) }

// session returns an empty session for a flow that starts.
func (w *walks) session(start int64) *targets.Session {
	s := new(targets.Session)
	if last := len(w.spare) - 1; last >= 0 {
		s, w.spare = w.spare[last], w.spare[:last]
	}
	s.Start, s.Turn = start, start
	w.n++
	return s
}

// end forgets a flow.
func (w *walks) end(s *targets.Session) {
	w.n--
	s.Reset()
	w.spare = append(w.spare, s)
}

// wait makes a flow wait for a step after r, and so much longer.
func (w *walks) wait(r *targets.Result, step int, more time.Duration) {
	c, s := r.Call, r.Call.Session
	c.Step = step
	due := w.mix.Due(step, s.Start, r.Done+int64(more))
	if s.Turn += due - r.Done; !w.mix.FromAnswer(step) {
		s.Turn = due
	}
	heap.Push(&w.timed, pause{c, due, max(due, r.Done)})
}

// opening moves flows whose step is ready at now from timed to open. It returns when the next one gets ready.
func (w *walks) opening(now int64) int64 {
	for w.timed.Len() > 0 {
		if first := &w.timed.all[0]; first.ready > now {
			return first.ready
		}
		p := heap.Pop(&w.timed).(pause)
		heap.Push(&w.open[p.call.Step].waiting, p)
		w.opened++
	}
	return forever
}

// planned returns when the first flow of an open step may leave.
func (o *openStep) planned() int64 {
	first := &o.waiting.all[0]
	return max(first.ready, o.plan+max(0, first.call.Session.Turn-o.latest)/2)
}

// leave removes the first flow of a step, which was sent at now.
func (w *walks) leave(o *openStep, now int64) {
	planned := o.planned()
	if o.waiting.all[0].call.Session.Turn < o.latest {
		w.drop(o)
		return
	}
	if o.plan = planned; now-planned > grace {
		o.plan = now
	}
	w.drop(o)
}

// drop removes the first flow of a step. It is sent, or too late.
func (w *walks) drop(o *openStep) pause {
	w.opened--
	p := heap.Pop(&o.waiting).(pause)
	o.latest = max(o.latest, p.call.Session.Turn)
	return p
}

// pauses is a heap of flows: by when they are ready, or by their turns.
type pauses struct {
	all    []pause
	byTurn bool
}

func (l *pauses) Len() int { return len(l.all) }
func (l *pauses) Less(i, j int) bool {
	if l.byTurn {
		return l.all[i].call.Session.Turn < l.all[j].call.Session.Turn
	}
	return l.all[i].ready < l.all[j].ready
}
func (l *pauses) Swap(i, j int) { l.all[i], l.all[j] = l.all[j], l.all[i] }
func (l *pauses) Push(p any)    { l.all = append(l.all, p.(pause)) }
func (l *pauses) Pop() any {
	last := len(l.all) - 1
	p := l.all[last]
	l.all[last] = pause{} // it holds a session
	l.all = l.all[:last]
	return p
}
