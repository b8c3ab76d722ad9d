package record

// Counts are the counters of a snapshot. All are ≥ 0.
type Counts struct {
	Sent        int64 `json:"sent"`                // requests whose sending began; of a flow of several requests, the first one
	LateDropped int64 `json:"late_dropped"`        // slots too late to send
	Recalled    int64 `json:"recalled"`            // slots dropped because their law had ended
	Ungranted   int64 `json:"ungranted,omitempty"` // slots that the run's limiter did not grant in time
	Followed    int64 `json:"followed,omitempty"`  // requests of flows after their first ones, which are in sent

	FollowedLate int64 `json:"followed_late,omitempty"` // the same, too late to send
	Completed    int64 `json:"completed"`               // answered with an expected status
	Failed       int64 `json:"failed"`                  // ended otherwise
	BytesIn      int64 `json:"bytes_in"`
	BytesOut     int64 `json:"bytes_out"`
	Judged       int64 `json:"judged,omitempty"`      // answers that had goals
	Good         int64 `json:"good,omitempty"`        // of these, those that met them all
	MessagesIn   int64 `json:"messages_in,omitempty"` // received, over protocols that have messages
	OutOfRange   int64 `json:"out_of_range"`          // latencies, service times and lags above 1 h, each counted; they are in no histogram
	Beyond       int64 `json:"beyond,omitempty"`      // slots decided on in one of the ways above before the worker knew that their law ends before them
	Deduplicated int64 `json:"made_up,omitempty"`     // slots not sent because one of Beyond with the same ordinal was; they are in no other count
	SeenLate     int64 `json:"seen_late"`             // slots that the worker itself saw late, sent or dropped, before it asked for a connection
	Busy         int64 `json:"busy"`                  // slots that found no free connection, and slots dropped because others waited for one
	Opening      int64 `json:"opening"`               // the same, while the maximum number of connections was being opened
	NoRoom       int64 `json:"no_room"`               // slots dropped because the maximum number of requests was in flight, while none waited for a connection
}

// add adds o field by field.
func (c *Counts) add(o Counts) {
	c.Sent += o.Sent
	c.LateDropped += o.LateDropped
	c.Recalled += o.Recalled
	c.Ungranted += o.Ungranted
	c.Followed += o.Followed
	c.FollowedLate += o.FollowedLate
	c.Completed += o.Completed
	c.Failed += o.Failed
	c.BytesIn += o.BytesIn
	c.BytesOut += o.BytesOut
	c.Judged += o.Judged
	c.Good += o.Good
	c.MessagesIn += o.MessagesIn
	c.OutOfRange += o.OutOfRange
	c.Beyond += o.Beyond
	c.Deduplicated += o.Deduplicated
	c.SeenLate += o.SeenLate
	c.Busy += o.Busy
	c.Opening += o.Opening
	c.NoRoom += o.NoRoom
}

// Plus returns the sum of both, field by field.
func (c Counts) Plus(o Counts) Counts {
	c.add(o)
	return c
}

// Slots returns how many slots the counts account for. For a closed loop, which has no slots, that is the number of
// sent requests.
func (c Counts) Slots() int64 {
	return c.Sent + c.LateDropped + c.Recalled + c.Ungranted
}

// Overrun returns how many slots of Beyond have not replaced a later one.
func (c Counts) Overrun() int64 { return max(0, c.Beyond-c.Deduplicated) }

// Fired returns how many slots were sent or too late to send. SeenLate, Busy, Opening and NoRoom are parts of it.
func (c Counts) Fired() int64 { return c.Sent + c.LateDropped }

// ErrorClass holds the failed requests of one class.
type ErrorClass struct {
	Count   int64      `json:"count"`
	Latency *Histogram `json:"latency"` // of these requests only; Snapshot.Latency contains them too
}

// A Snapshot holds the histograms and counters of one worker, for an interval or cumulative, or the merge of several.
// Make it with NewSnapshot: the histograms must not be nil. Not safe for concurrent use.
type Snapshot struct {
	Worker      string `json:"worker"`
	Incarnation string `json:"incarnation"`    // one process of the worker
	Host        string `json:"host,omitempty"` // name of the worker's machine; "" = unknown
	Seq         uint64 `json:"seq"`            // number within the incarnation; it reveals duplicates and gaps
	Start       int64  `json:"start"`          // µs of the Redis clock; 0 = not set
	End         int64  `json:"end"`            // µs of the Redis clock
	Final       bool   `json:"final"`          // the incarnation's last

	Counts  Counts     `json:"counts"`
	Latency *Histogram `json:"latency"` // done − due
	Service *Histogram `json:"service"` // done − sent
	Lag     *Histogram `json:"lag"`     // sent − due

	// FirstByte is first byte − sent, of requests whose answer had one. Encoded, it is absent if those of the steps are
	// all of it.
	FirstByte   *Compact    `json:"first_byte,omitzero"`
	Connections Connections `json:"connections,omitzero"`

	Streams Streams `json:"streams,omitzero"` // of answers in pieces

	Status map[int]int64          `json:"status"` // responses by protocol status 1…999; OtherStatus pools the rest
	Errors map[string]*ErrorClass `json:"errors"` // failed requests by class, at most 65 classes

	// Steps are the steps of a workload by name, at most MaxSteps and OtherStep; nil without a workload.
	Steps map[string]*Step `json:"steps,omitempty"`

	// MostInFlight is the most requests that this worker had in flight at once in a closed loop. It is 0 in an open
	// loop, and for targets that do not connect. In a merge of several workers it is that of one of them.
	MostInFlight int64 `json:"most_in_flight,omitempty"`

	// Processes is how many processes of workers this one knows in the run, including itself; 0 = none yet.
	// Redis may have forgotten some of them since. In a merge of several workers it is the largest of their numbers.
	Processes int64 `json:"processes,omitempty"`

	// Outages are the last times in which this worker could not publish, in order. Only cumulative snapshots have them;
	// Merge does not merge them.
	Outages []Outage `json:"outages,omitempty"`

	// Behind says, of an interval, that points of the worker's series before its end are still to come.
	Behind bool `json:"behind,omitempty"`

	Self Self `json:"self,omitzero"` // what the worker measured of itself; meaningless in a merge of several workers
}

// NewSnapshot returns an empty snapshot of one incarnation of a worker.
func NewSnapshot(worker, incarnation string) *Snapshot {
	return &Snapshot{
		Worker:      worker,
		Incarnation: incarnation,
		Latency:     NewHistogram(),
		Service:     NewHistogram(),
		Lag:         NewHistogram(),
		FirstByte:   NewCompact(),
		Connections: NewConnections(),
		Streams:     NewStreams(),
		Status:      make(map[int]int64),
		Errors:      make(map[string]*ErrorClass),
	}
}

// Requests returns how many requests were sent.
func (c Counts) Requests() int64 { return c.Sent + c.Followed }

// InFlight returns how many requests were sent and have not ended. Use it for cumulative snapshots; over an interval it
// may be negative.
func (s *Snapshot) InFlight() int64 {
	return s.Counts.Sent + s.Counts.Followed - s.Counts.Completed - s.Counts.Failed
}

// Record adds what r holds, of another shard or another beat. It does not reset r.
func (s *Snapshot) Record(r *Recorder) {
	s.Counts.add(r.counts)
	s.MostInFlight += r.mostInFlight // in one beat, over all shards
	r.latency.addTo(s.Latency)
	r.service.addTo(s.Service)
	r.lag.addTo(s.Lag)
	r.firstByte.addTo(s.FirstByte.Histogram())
	s.Connections.record(&r.connections)
	s.Streams.record(r.streams)
	for code, n := range r.status {
		if n > 0 {
			s.Status[code] += n
		}
	}
	if r.statusOther > 0 {
		s.Status[OtherStatus] += r.statusOther
	}
	for name, c := range r.classes {
		if c.count > 0 {
			e := s.Class(name)
			e.Count += c.count
			c.latency.addTo(e.Latency)
		}
	}
	s.addSteps(&r.steps)
}

// Merge adds the counts and buckets of o, of any worker; o stays unchanged. The interval grows to cover both. Worker,
// Incarnation, Seq and Final stay.
func (s *Snapshot) Merge(o *Snapshot) {
	if s.Start == 0 || (o.Start != 0 && o.Start < s.Start) {
		s.Start = o.Start
	}
	s.End = max(s.End, o.End)
	s.Counts.add(o.Counts)
	s.Self.add(o.Self)
	s.MostInFlight = max(s.MostInFlight, o.MostInFlight)
	s.Processes = max(s.Processes, o.Processes)
	s.Latency.Merge(o.Latency)
	s.Service.Merge(o.Service)
	s.Lag.Merge(o.Lag)
	s.FirstByte.Merge(o.FirstByte)
	s.Connections.Merge(&o.Connections)
	s.Streams.Merge(&o.Streams)
	for code, n := range o.Status {
		s.Status[code] += n
	}
	for name, c := range o.Errors {
		e := s.Class(name)
		e.Count += c.Count
		e.Latency.Merge(c.Latency)
	}
	s.mergeSteps(o)
}

// TakeTimes moves the histograms of o into s; o keeps its counts. So the histograms of thousands of workers need not be
// held at once. See Times in report.Input.
func (s *Snapshot) TakeTimes(o *Snapshot) {
	s.AddTimes(o)
	o.Latency, o.Service, o.Lag, o.FirstByte = NewHistogram(), NewHistogram(), NewHistogram(), NewCompact()
	o.Connections.dropTimes()
	o.Streams.dropTimes()
	for _, c := range o.Errors {
		c.Latency = NewHistogram()
	}
	for _, step := range o.Steps {
		step.Latency, step.FirstByte = NewHistogram(), NewCompact()
		step.Streams.dropTimes()
	}
}

// AddTimes adds the histograms of o, which may be nil, and nothing else.
func (s *Snapshot) AddTimes(o *Snapshot) {
	if o == nil {
		return
	}
	s.Latency.Merge(o.Latency)
	s.Service.Merge(o.Service)
	s.Lag.Merge(o.Lag)
	s.FirstByte.Merge(o.FirstByte)
	s.Connections.addTimes(&o.Connections)
	s.Streams.addTimes(&o.Streams)
	for name, c := range o.Errors {
		s.Class(name).Latency.Merge(c.Latency)
	}
	for name, step := range o.Steps {
		s.Step(name).addTimes(step)
	}
}

// Class returns the entry of an error class; beyond the limit that of OtherClass.
func (s *Snapshot) Class(name string) *ErrorClass {
	if e, ok := s.Errors[name]; ok {
		return e
	}
	name = pooledClass(name, s.Errors)
	e, ok := s.Errors[name]
	if !ok {
		e = &ErrorClass{Latency: NewHistogram()}
		s.Errors[name] = e
	}
	return e
}

// Reset empties the snapshot for the next interval: counts, histograms, interval and Final. Worker, Incarnation and Seq
// stay.
func (s *Snapshot) Reset() {
	s.Start, s.End, s.Final, s.Behind = 0, 0, false, false
	s.Counts, s.Self, s.MostInFlight, s.Processes, s.Outages = Counts{}, Self{}, 0, 0, nil
	s.Latency.Reset()
	s.Service.Reset()
	s.Lag.Reset()
	s.FirstByte.Histogram().Reset()
	s.Connections, s.Streams = NewConnections(), NewStreams()
	clear(s.Status)
	clear(s.Errors)
	s.Steps = nil
}
