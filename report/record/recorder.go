package record

const (
	// OtherStatus is the key under which Snapshot.Status pools codes outside 0…999, so that a hostile endpoint cannot
	// fill our memory.
	OtherStatus = -1

	// OtherClass is the error class that pools the classes after the first 64, and classes with names longer than 64
	// bytes.
	OtherClass = "other"

	// MaxClasses bounds the classes of errors, apart from OtherClass.
	MaxClasses = 64

	statusCodes   = 1000
	maxClassBytes = 64
)

// A Finished is one request that ended. Times are nanoseconds on one local monotonic clock; only their differences are
// used.
type Finished struct {
	Due, Sent, Done int64 // intended time, actual send time, end of response
	First           int64 // first byte of the response; 0 = none came, or nobody noted it
	Reused          bool  // its connection had carried a request before

	Status int    // protocol status (the HTTP code), 0 = none
	Class  string // error class ("timeout", "connect", "status", …); "" = completed as expected. Use a small fixed set

	BytesIn, BytesOut int64 // received and sent, on the level that the target counts
	Messages          int64 // received, over protocols that have messages

	Stream *Stream // of an answer in pieces that had an event; else nil
	Judged bool    // there were goals for the answer
	Good   bool    // it met them all

	Step int // index of the request's step in its workload; without meaning in a Recorder without steps
}

// A Recorder holds what one shard recorded since the last hand-over. It belongs to one goroutine. It allocates 1 kB when a
// value is the first in its range: times of one endpoint are in few ranges. It usually takes 60 kB, at most 300 kB, 20 kB
// more for each error class seen (at most 98 kB, and 65 classes), and 25 kB for each step (at most 115 kB).
type Recorder struct {
	counts                Counts
	mostInFlight          int64
	latency, service, lag paged
	status                [statusCodes]int64
	statusOther           int64
	classes               map[string]*recordedClass
	steps                 recordedSteps
	firstByte             paged
	connections           recordedConnections
	streams               *recordedStreams // nil until there is one
}

// recordedClass is one error class in a Recorder. It survives Reset, so that a class that occurs again does not
// allocate.
type recordedClass struct {
	count   int64
	latency paged
}

// NewRecorder returns an empty recorder, which also counts the steps of a workload apart. Steps with the same name are
// counted together.
func NewRecorder(steps ...string) *Recorder {
	return &Recorder{
		latency: newPaged(),
		service: newPaged(),
		lag:     newPaged(),
		classes: make(map[string]*recordedClass),
		steps:   newSteps(steps),

		firstByte:   pagedCompact(),
		connections: newRecordedConnections(),
	}
}

// Sent counts a request whose sending began; of a flow of several requests, the first one.
func (r *Recorder) Sent() { r.counts.Sent++ }

// Followed counts a request of a flow after its first one, of the step with this index. Sent counts the first one.
func (r *Recorder) Followed(step int) {
	r.counts.Followed++
	r.StepFollowed(step)
}

// StepFollowed counts a request that Sent counts too: it had a slot, but is not the first one of its flow.
func (r *Recorder) StepFollowed(step int) {
	if s := r.steps.step(step); s != nil {
		s.Sent++
		s.Followed++
	}
}

// FollowedLate counts a later request of a flow that was too late to send. LateDropped counts the first ones.
func (r *Recorder) FollowedLate(step int) {
	r.counts.FollowedLate++
	if s := r.steps.step(step); s != nil {
		s.LateDropped++
		s.FollowedLate++
	}
}

// InFlight notes that n requests of a closed loop's shard are in flight.
func (r *Recorder) InFlight(n int64) { r.mostInFlight = max(r.mostInFlight, n) }

// Done records the end of a request counted by Sent or Followed: completed if s.Class is empty, else failed. Failed requests count
// in the latency histogram too.
func (r *Recorder) Done(s Finished) {
	latency := s.Done - s.Due
	r.record(&r.latency, latency)
	r.record(&r.service, s.Done-s.Sent)
	r.record(&r.lag, s.Sent-s.Due)
	r.counts.BytesIn += s.BytesIn
	r.counts.BytesOut += s.BytesOut
	r.counts.MessagesIn += s.Messages
	step := r.steps.step(s.Step)
	if step != nil {
		step.done(s.Class, latency)
	}
	if s.Reused {
		r.connections.reused++
	}
	if first, ok := inRange(s.First - s.Sent); ok && s.First > 0 { // above 1 h the service time is out of range too, and counted
		r.firstByte.record(first)
		if step != nil {
			step.firstByte.record(first)
		}
	}
	if s.Stream != nil {
		r.streamed().done(&s)
		if step != nil {
			step.streamed().done(&s)
		}
	}
	r.judge(&s, step)
	switch {
	case s.Status == 0: // the protocol has no status, or there was no response
	case s.Status > 0 && s.Status < statusCodes:
		r.status[s.Status]++
	default:
		r.statusOther++
	}
	if s.Class == "" {
		r.counts.Completed++
		return
	}
	r.counts.Failed++
	c := r.class(s.Class)
	c.count++
	if ns, ok := inRange(latency); ok {
		c.latency.record(ns)
	}
}

// judge counts whether an answer met its goals. A failed one has not.
func (r *Recorder) judge(s *Finished, step *recordedStep) {
	if !s.Judged {
		return
	}
	var good int64
	if s.Good && s.Class == "" {
		good = 1
	}
	r.counts.Judged++
	r.counts.Good += good
	if step != nil {
		step.Judged++
		step.Good += good
	}
}

// record adds one value to h, if it is in the range.
func (r *Recorder) record(h *paged, ns int64) {
	ns, ok := inRange(ns)
	if !ok {
		r.counts.OutOfRange++
		return
	}
	h.record(ns)
}

// class returns the record of an error class; beyond the limit that of OtherClass.
func (r *Recorder) class(name string) *recordedClass {
	if c, ok := r.classes[name]; ok {
		return c
	}
	name = pooledClass(name, r.classes)
	c, ok := r.classes[name]
	if !ok {
		c = &recordedClass{latency: newPaged()}
		r.classes[name] = c
	}
	return c
}

// pooledClass returns the name under which to keep a class that is not known yet. OtherClass has a place beyond the
// limit. Else the order of merging would decide which classes get a place.
func pooledClass[C any](name string, known map[string]C) string {
	n := len(known)
	if _, ok := known[OtherClass]; ok {
		n--
	}
	if n >= MaxClasses || len(name) > maxClassBytes {
		return OtherClass
	}
	return name
}

// Ungranted counts n ≥ 0 slots dropped because the run's limiter did not grant them in time.
func (r *Recorder) Ungranted(n int64) { r.counts.Ungranted += n }

// LateDropped counts n ≥ 0 slots dropped because they were too late to send.
func (r *Recorder) LateDropped(n int64) { r.counts.LateDropped += n }

// Recalled counts n ≥ 0 slots dropped because their law had ended.
func (r *Recorder) Recalled(n int64) { r.counts.Recalled += n }

// Beyond counts n ≥ 0 slots that were decided on before the worker knew that their law ends before them.
func (r *Recorder) Beyond(n int64) { r.counts.Beyond += n }

// Deduplicated counts n ≥ 0 slots that were not sent, because one of those that Beyond counts has the same ordinal.
func (r *Recorder) Deduplicated(n int64) { r.counts.Deduplicated += n }

// SeenLate counts n ≥ 0 slots that the worker itself saw late; nothing else had delayed them.
func (r *Recorder) SeenLate(n int64) { r.counts.SeenLate += n }

// Busy counts n ≥ 0 slots that found no free connection, or no room among those waiting for one.
func (r *Recorder) Busy(n int64) { r.counts.Busy += n }

// Opening counts n ≥ 0 slots like Busy, while the maximum number of connections was being opened.
func (r *Recorder) Opening(n int64) { r.counts.Opening += n }

// NoRoom counts n ≥ 0 slots that found the maximum number of requests in flight.
func (r *Recorder) NoRoom(n int64) { r.counts.NoRoom += n }

// Reset forgets all records and keeps the memory.
func (r *Recorder) Reset() {
	r.counts, r.mostInFlight = Counts{}, 0
	r.latency.reset()
	r.service.reset()
	r.lag.reset()
	r.status = [statusCodes]int64{}
	r.statusOther = 0
	r.steps.reset()
	r.firstByte.reset()
	r.connections.reset()
	if r.streams != nil {
		r.streams.reset()
	}
	for _, c := range r.classes {
		if c.count > 0 {
			c.count = 0
			c.latency.reset()
		}
	}
}
