package spec

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/rows"
)

// An Origin says where the flows of a run come from: a file, and flags beside it. So reports show the flags as they
// were given, and all that the file says as one flag. It changes nothing of what the run does.
type Origin struct {
	Flag string `json:"flag"` // of the file: --targets or --workload

	// Of all steps, given by flags. Each step has them too.
	Headers []targets.Header `json:"headers,omitempty"`
	Expect  string           `json:"expect,omitempty"`
	Checks  []string         `json:"checks,omitempty"`

	// What the file says beside its flows.
	QPS        pacer.Rate `json:"qps"`                  // in slots; 0 = nothing, or a flag says another rate
	Data       int        `json:"data,omitempty"`       // how many data files: the last ones of the spec
	Thresholds int        `json:"thresholds,omitempty"` // likewise
}

// asGiven returns the spec without what the file of its flows says: all else was given by flags.
func (s Spec) asGiven() Spec {
	o := s.Origin
	if o == nil {
		return s
	}
	s.Target.Headers, s.Target.Expect, s.Target.Checks = o.Headers, o.Expect, o.Checks
	if s.QPS == o.QPS {
		s.QPS = pacer.Rate{Den: 1}
	}
	s.Target.Data = s.Target.Data[:max(0, len(s.Target.Data)-o.Data)]
	s.Thresholds = s.Thresholds[:max(0, len(s.Thresholds)-o.Thresholds)]
	return s
}

// file stands for the file of the flows: it says what the run has of it, so that two runs can be compared.
func (s Spec) file() (flag, value string) {
	text, _ := json.Marshal(s.Target.Flows) // it has no values that JSON lacks
	kind := "targets"
	if flag = s.flowsFlag(); flag == WorkloadFlag {
		kind = "flows"
	}
	parts := []string{fmt.Sprintf("%d %s, SHA-256 %x", len(s.Target.Flows), kind, sha256.Sum256(text))}
	if given := s.asGiven(); s.Origin != nil {
		if given.QPS != s.QPS {
			parts = append(parts, "qps "+s.requestRate())
		}
		for _, d := range s.Target.Data[len(given.Target.Data):] {
			parts = append(parts, shownData(d))
		}
	}
	return flag, "[" + strings.Join(parts, "; ") + "]"
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
	case slices.ContainsFunc(s.Target.Flows, several):
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
