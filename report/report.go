package report

import (
	"errors"
	"time"

	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/samples"
	"github.com/loadctl/loadctl/report/threshold"
)

// A Report is the result of a run, or of a run so far. Its JSON is stable: members keep name, unit and meaning; new
// ones may be added. Rates are per second; names that end in _ns are nanoseconds, those in _s seconds.
type Report struct {
	Run        string    `json:"run"`
	StartedAt  time.Time `json:"started_at"` // RFC 3339 with nanoseconds, UTC; year 1 = not started
	Running    bool      `json:"running"`    // the run goes on: held and in-flight requests are not decided yet
	DurationS  float64   `json:"duration_s"`
	Asked      int64     `json:"asked"`       // requests that the rate in force asked for
	Sent       int64     `json:"sent"`        // requests whose sending began, as in Audit
	TargetRate float64   `json:"target_rate"` // of the whole cluster
	Rate       float64   `json:"rate"`        // sent per second
	Throughput float64   `json:"throughput"`  // completed per second
	// Requests and RequestRate count all requests of flows, where Sent and Rate count the flows. Absent if no flow has
	// several requests.
	Requests    int64   `json:"requests,omitempty"`
	RequestRate float64 `json:"request_rate,omitempty"` // per second
	Success     float64 `json:"success"`                // completed/(completed+failed), 0…1; 0 when nothing ended

	Described Description `json:"described"` // the target and the flags

	Latency     record.Distribution `json:"latency_ns"`      // done − due, of all that ended, including failed ones
	ServiceTime record.Distribution `json:"service_time_ns"` // done − sent
	Lag         record.Distribution `json:"lag_ns"`          // sent − due

	// FirstByte is first byte − sent, of FirstBytes requests: those whose answer had one. Absent if there were none.
	FirstByte   record.Distribution `json:"first_byte_ns,omitzero"`
	FirstBytes  int64               `json:"first_bytes,omitempty"`
	Connections Connections         `json:"connections,omitzero"` // absent if there were none

	// Streams is about answers that came in pieces, and Goodput of the goals that each answer had. Absent without any.
	Streams Streams `json:"streams,omitzero"`
	Goodput Goodput `json:"goodput,omitzero"`

	StatusCodes map[string]int64 `json:"status_codes"`    // responses by code; "other" pools codes outside 0…999
	Errors      map[string]int64 `json:"errors"`          // failed requests by class
	Steps       []StepReport     `json:"steps,omitempty"` // of a workload of several requests, in its order
	BytesIn     int64            `json:"bytes_in"`
	BytesOut    int64            `json:"bytes_out"`
	MessagesIn  int64            `json:"messages_in,omitempty"` // 0 = none, or the protocol has none

	Audit   Audit          `json:"audit"`
	Workers []WorkerReport `json:"workers"`

	// Series has one element for each SeriesWidthS from StartedAt, without holes.
	Series       []SeriesReport `json:"series"`
	SeriesWidthS int64          `json:"series_width_s"`

	// Complete says that the run is over, the final snapshot of every incarnation is in, and the audit adds up: the
	// report contains all that the workers did. Else Notes say what is missing, unless the run just goes on. A complete
	// report may have notes as well.
	Complete bool     `json:"complete"`
	Notes    []string `json:"notes"`

	// ClosedLoop says that the run had no rate: the next request was sent when one had ended. Then Asked and TargetRate are 0,
	// no request had a slot, and latency counts from sending. Concurrency has the numbers of requests that the whole cluster
	// was to have in flight, one after the other; absent = as many as connections allowed.
	ClosedLoop  bool    `json:"closed_loop,omitempty"`
	Concurrency []int64 `json:"concurrency,omitempty"`

	// Limiter describes the run's limiter and the burst last in force. Absent without a limiter.
	Limiter string `json:"limiter,omitempty"`

	// LowerBoundsAbove is the quantile 1 − late_dropped/asked if requests were dropped late. Those count as slower than
	// all that were sent: quantiles of latency and lag cover all that was asked for, and quantiles above this one are
	// lower bounds. Absent if nothing was dropped late.
	LowerBoundsAbove *float64 `json:"percentiles_are_lower_bounds_above,omitempty"`

	OutOfRange int64 `json:"out_of_range"` // values above 1 h, in no histogram

	// Events are what happened to the run, oldest first: the last 1,000 known.
	Events []Event `json:"events"`

	// Scalings are the changes of the part of its plan's rates that the run sent: by guards, which are thresholds with
	// reduce, and by cuts of its endpoint's budget. ScaledS is how long it sent less than its plan.
	Scalings []Scaling `json:"scalings,omitempty"`
	ScaledS  float64   `json:"scaled_s,omitempty"`

	// Thresholds are the conditions that the run has to meet, and their results. They leave out the first WarmupS
	// seconds.
	Thresholds []threshold.Result `json:"thresholds,omitempty"`
	WarmupS    float64            `json:"warmup_s,omitempty"`

	// Queries are what a Prometheus was asked about the endpoint. Series has the answers over time.
	Queries []QueryReport `json:"queries,omitempty"`

	// Samples are some requests as evidence: those that failed first, the slowest, and some by chance.
	Samples []samples.Sample `json:"samples,omitempty"`

	// SamplesIn are the arguments with which `loadctl samples` reads Samples. Nil stands for the run. Empty, but not nil, says
	// that nothing keeps them.
	SamplesIn []string `json:"-"`

	// Histograms are the source of the numbers. Nil in a Report that was read from JSON.
	Histograms *Histograms `json:"-"`
}

// Histograms are the merged histograms of all workers.
type Histograms struct {
	Latency, Service, Lag *record.Histogram
	Phases                Phases
	Errors                map[string]*record.Histogram // latency by error class
	Steps                 map[string]*record.Histogram // latency by step; nil without steps
	Streams               record.Streams               // of answers in pieces; make it with record.NewStreams
	StepStreams           map[string]*record.Streams   // by step; nil without any
	Series                []record.Point
}

// WorkerReport is one incarnation in a Report.
type WorkerReport struct {
	ID          string    `json:"id"`
	Incarnation string    `json:"incarnation"` // one process of the worker
	State       string    `json:"state"`
	Final       bool      `json:"final"` // its final snapshot is in: all that this process did is counted
	Sent        int64     `json:"sent"`
	LastSeen    time.Time `json:"last_seen,omitzero"` // absent = never
	Gaps        int64     `json:"gaps"`

	LateDropped int64 `json:"late_dropped"`
	SeenLate    int64 `json:"seen_late"` // slots that the worker itself saw late
	Busy        int64 `json:"busy"`      // slots that found no free connection
	Opening     int64 `json:"opening"`   // of these, slots for which the maximum number of connections was being opened
	NoRoom      int64 `json:"no_room"`   // slots that found the maximum number of requests in flight

	MostInFlight int64 `json:"most_in_flight,omitempty"` // in a closed loop: the most requests in flight at once, which is the number of connections used

	Self     SelfReport       `json:"self"`
	Verdicts []record.Verdict `json:"verdicts"` // empty = only the rate was a limit, as far as Self knows
}

// SelfReport is what a worker measured of itself. MeasuredS is 0 if it did not.
type SelfReport struct {
	MeasuredS float64                      `json:"measured_s"`
	Cores     int64                        `json:"cores"`     // cores that it may use, at most
	GCCycles  int64                        `json:"gc_cycles"` // garbage collections
	Load      map[string]record.LoadReport `json:"load"`      // by name; loads that a system does not report are absent
}

// SeriesReport is one point of the series. Sent counts by the time of sending; ok and failed count by the time of the
// end.
type SeriesReport struct {
	T      int64 `json:"t"` // its start, in seconds since StartedAt
	Asked  int64 `json:"asked"`
	Sent   int64 `json:"sent"`
	OK     int64 `json:"ok"`
	Failed int64 `json:"failed"`
	P50NS  int64 `json:"p50_ns"` // latency to 2 significant digits; 0 when nothing ended
	P90NS  int64 `json:"p90_ns"`
	P99NS  int64 `json:"p99_ns"`
	P999NS int64 `json:"p999_ns"`

	// Errors is Failed by class, nil if there are none. Failures counted by an older program are in OtherClass.
	Errors map[string]int64 `json:"errors,omitempty"`

	// Streams are the answers in pieces of this point, and Goodput those that had goals. Absent without any.
	Streams SeriesStreams `json:"streams,omitzero"`
	Goodput SeriesGoodput `json:"goodput,omitzero"`

	// Queries are the answers of the queries that were asked in this point, by their names.
	Queries map[string]record.Value `json:"queries,omitempty"`
}

// ErrNoHistograms is the error of renderers that need histograms, for a report that was read from JSON.
var ErrNoHistograms = errors.New("the report has no histograms, because it was read from JSON")

// ArchiveExtension is the ending of the names of archives. No run has such a name.
const ArchiveExtension = ".loadctl"
