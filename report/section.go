package report

import (
	"time"

	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/threshold"
)

// A Section is a part of a run as its workers published it: for each worker, its intervals in that part, merged.
//
//	s := report.Section{Asked: 300, Length: 3 * time.Second, Workers: intervals}
//	if limit, _ := s.Generator(); limit == "" {
//		fmt.Println(s.Judge(threshold).Result)
//	}
//
// Unlike the series it has all data of a snapshot, so every threshold can be judged.
type Section struct {
	Asked   int64 // slots that were due in it
	Length  time.Duration
	Workers []*record.Snapshot
}

// Total returns the sum over all workers.
func (s Section) Total() *record.Snapshot {
	all := record.NewSnapshot("", "")
	for _, w := range s.Workers {
		all.Merge(w)
	}
	return all
}

// Judge judges a threshold over the section and ignores its windows. Requests that were dropped late count as slower
// than all that ended.
func (s Section) Judge(t threshold.Threshold) threshold.Result {
	out := threshold.Result{Threshold: t.Text, Unit: t.Kind()}
	read := s.window(t.Step).Read(t)
	out.Result = t.Judge(read)
	out.SetValue(t, read)
	return out
}

// window returns the section, or one step of it, as a window, by which thresholds are judged.
func (s Section) window(step string) threshold.Window {
	all := s.Total()
	if step != "" {
		return stepWindow(all.Steps[step], s.Length.Seconds(), all.Counts.OutOfRange, 0)
	}
	c := all.Counts
	w := threshold.Window{
		Seconds: s.Length.Seconds(), Asked: s.Asked + c.Followed + c.FollowedLate, Sent: c.Requests(), OK: c.Completed, Failed: c.Failed,
		Latency: all.Latency, Service: all.Service, Lag: all.Lag, FirstByte: all.FirstByte.Histogram(),
		DNS: all.Connections.DNS.Histogram(), Connect: all.Connections.Connect.Histogram(), TLS: all.Connections.TLS.Histogram(), Status: map[string]int64{},
		Streams: all.Streams, Judged: c.Judged, Good: c.Good,
		NotSent: max(0, s.Asked-c.Sent) + c.FollowedLate, Slower: c.OutOfRange,
		Kept: Audit{Asked: c.Fired(), LateDropped: c.LateDropped, Followed: c.Followed}.kept(c.FollowedLate),
	}
	for code, n := range all.Status {
		w.Status[statusName(code)] = n
	}
	return w
}

// Generator says whose generator was the limit; "" = none. full says that only the number of requests in flight (-c)
// was the limit: then the worker had time to spare, and the service times are right.
func (s Section) Generator() (limit string, full bool) {
	var r Report
	full = true
	for _, w := range s.Workers {
		judged := WorkerReport{ID: w.Worker, Verdicts: record.Verdicts(w, false)}
		for _, v := range judged.Verdicts {
			full = full && (v.Limit != "generator" || v.Cause == "max_in_flight")
		}
		r.Workers = append(r.Workers, judged)
	}
	limit = r.generatorLimit()
	return limit, full && limit != ""
}
