package spec

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/report/units"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/rows"
	"github.com/loadctl/loadctl/targets/trace"
)

// An Origin says where the flows of a run come from: a file, and flags beside it. So reports show the flags as they
// were given, and all that the file says as one flag. It changes nothing of what the run does.
type Origin struct {
	Flag string `json:"flag"` // of the file: --targets or --workload

	// Of all steps, given by flags. Each step has them too.
	Headers []targets.Header `json:"headers,omitempty"`
	Expect  string           `json:"expect,omitempty"`
	Checks  []string         `json:"checks,omitempty"`

	// What the file says beside its flows, in the form of the spec's fields. Rates are left out if a flag says any.
	QPS         pacer.Rate    `json:"qps"`
	Stages      []string      `json:"stages,omitempty"`
	Profile     string        `json:"profile,omitempty"`
	Concurrency int64         `json:"concurrency,omitempty"`
	Duration    time.Duration `json:"duration_ns,omitempty"`
	Arrivals    string        `json:"arrivals,omitempty"`
	Pick        string        `json:"pick,omitempty"`
	RateOf      string        `json:"rate_of,omitempty"`
	Data        int           `json:"data,omitempty"`       // how many data files: the last ones of the spec
	Thresholds  int           `json:"thresholds,omitempty"` // likewise

	Trace        bool        `json:"trace,omitempty"`
	TraceSampled trace.Share `json:"trace_sampled,omitempty"`
}

// rates reports whether the rates of the spec are those of the file.
func (o *Origin) rates(s Spec) bool {
	return s.QPS == o.QPS && slices.Equal(s.Stages, o.Stages) && s.Profile == o.Profile && s.Concurrency == o.Concurrency
}

// origin returns where the flows come from; the zero value if that is unknown, or there are none.
func (s Spec) origin() Origin {
	if s.Origin == nil {
		return Origin{}
	}
	return *s.Origin
}

// asGiven returns the spec without what the file of its flows says, where flags add to the file or replace all rates.
// The origin says the rest.
func (s Spec) asGiven() Spec {
	o := s.Origin
	if o == nil {
		return s
	}
	s.Target.Headers, s.Target.Expect, s.Target.Checks = o.Headers, o.Expect, o.Checks
	if o.rates(s) {
		s.Max = s.Max && !s.Seated() // of --qps max
		s.QPS, s.Stages, s.Profile, s.Concurrency = pacer.Rate{Den: 1}, nil, "", 0
	}
	s.Target.Data = s.Target.Data[:max(0, len(s.Target.Data)-o.Data)]
	s.Thresholds = s.Thresholds[:max(0, len(s.Thresholds)-o.Thresholds)]
	return s
}

// file stands for the file of the flows: it says what the run has of it, so that two runs can be compared.
func (s Spec) file() (flag, value string) {
	text, _ := json.Marshal(s.Target.Flows) // it has no values that JSON lacks
	kind := "target"
	if flag = s.flowsFlag(); flag == WorkloadFlag {
		kind = "flow"
	}
	if len(s.Target.Flows) != 1 {
		kind += "s"
	}
	parts := []string{fmt.Sprintf("%d %s, SHA-256 %x", len(s.Target.Flows), kind, sha256.Sum256(text))}
	if o := s.Origin; o != nil {
		parts = append(parts, s.beside(o)...)
	}
	return flag, "[" + strings.Join(parts, "; ") + "]"
}

// beside returns what the file says beside its flows, and the run goes by.
func (s Spec) beside(o *Origin) (parts []string) {
	part := func(name, value, unsaid string) {
		if value != unsaid {
			parts = append(parts, name+" "+value)
		}
	}
	if o.rates(s) {
		if s.QPS.Num > 0 {
			part("qps", s.requestRate(), "")
		}
		part("stages", strings.Join(s.Stages, ", "), "")
		if s.Concurrency > 0 {
			part("concurrency", strconv.FormatInt(s.Concurrency, 10), "")
		}
		part("profile", pacer.BriefProfile(s.Profile), "")
	}
	if s.Duration == o.Duration {
		part("duration", units.Length(s.Duration), units.Length(0))
	}
	if s.Arrivals == o.Arrivals {
		part("arrivals", s.Arrivals, "")
	}
	if s.Target.Pick == o.Pick {
		part("pick", s.Target.Pick, "")
	}
	if s.Target.RateOf == o.RateOf {
		part("rate of", s.Target.RateOf, "")
	}
	if s.Target.Cookies {
		parts = append(parts, "cookies")
	}
	if s.Target.Trace && o.Trace {
		parts = append(parts, "trace")
	}
	if s.Target.TraceSampled == o.TraceSampled && o.TraceSampled > 0 {
		parts = append(parts, "trace sampled "+o.TraceSampled.String())
	}
	for _, d := range s.Target.Data[max(0, len(s.Target.Data)-o.Data):] {
		parts = append(parts, shownData(d))
	}
	return parts
}

// The flags of files with flows.
const (
	TargetsFlag  = "--targets"
	WorkloadFlag = "--workload"
)

// flowsFlag returns the flag of the file. Where it is not known: a targets file has one step in each flow, of the same
// name.
func (s Spec) flowsFlag() string {
	several := func(f targets.Flow) bool { return len(f.Steps) != 1 || f.Steps[0].Name != f.Name }
	switch {
	case s.Origin != nil:
		return s.Origin.Flag
	case s.Target.Cookies || slices.ContainsFunc(s.Target.Flows, several):
		return WorkloadFlag
	default:
		return TargetsFlag
	}
}

// requestRate returns the rate as --qps takes it.
func (s Spec) requestRate() string {
	if !s.Max && s.Target.Walks() {
		return RequestRate(s.Target, s.QPS).String()
	}
	return s.Asks()
}

// shownData stands for a data file, as --data takes it but for its path.
func shownData(d rows.Source) string {
	text := fmt.Sprintf("[%d rows, SHA-256 %s],name=%s,pick=%s", d.Rows, d.SHA256, d.Name, d.Pick)
	if d.Seed > 0 {
		text += fmt.Sprintf(",seed=%d", d.Seed)
	}
	return text
}
