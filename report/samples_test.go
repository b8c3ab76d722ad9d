package report_test

import (
	"testing"
	"time"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/reporttest"
	"github.com/loadctl/loadctl/report/samples"
)

// TestSamplesHaveRoomInFormats: a report has at most as many bytes of samples as Redis holds of a run, the most valuable ones,
// and an archive of it can be written and read.
func TestSamplesHaveRoomInFormats(t *testing.T) {
	in := reporttest.Run(t)
	body := make([]byte, 64<<10)
	for i := range body {
		body[i] = 'x'
	}
	for i := range 400 {
		in.Samples.Samples = append(in.Samples.Samples, samples.Sample{
			Ordinal: uint64(i), Worker: "host-1", Step: string(rune('a' + i%26)), Class: "status", Due: in.StartedAt.Add(time.Duration(i)), Latency: int64(i),
			Request: &samples.Message{Body: string(body)}, Response: &samples.Message{Body: string(body)},
		})
	}
	r := report.Build(in)
	bytes, firsts := 0, 0
	for _, s := range r.Samples {
		if s.Whole() {
			bytes += len(s.Request.Body) + len(s.Response.Body)
			if s.Ordinal < 26 {
				firsts++
			}
		}
	}
	if bytes > samples.MostRunBytes || bytes < samples.MostRunBytes*8/10 || firsts == 0 {
		t.Errorf("%d bytes, %d firsts", bytes, firsts)
	}
	if back := reporttest.Reread(t, r); len(back.Samples) != len(r.Samples) {
		t.Errorf("%d of %d samples are read back", len(back.Samples), len(r.Samples))
	}
}

// TestCombineMergesSamples: a combined report has the samples that one fleet would have kept. In closed loops, equal ordinals are
// different requests.
func TestCombineMergesSamples(t *testing.T) {
	part := func(worker string, latency int64) report.Part {
		r := machine(t, worker, 10, 2, time.Millisecond, true)
		for i := range 15 {
			r.Samples = append(r.Samples, samples.Sample{Ordinal: uint64(i), Worker: worker, Due: r.StartedAt, Latency: latency + int64(i), Why: []string{samples.Slow}})
		}
		return report.Part{Name: worker, Report: r}
	}
	r, err := report.Combine([]report.Part{part("berlin", 100), part("paris", 105)})
	if err != nil {
		t.Fatal(err)
	}
	slow := map[string]int{}
	for _, s := range r.Samples {
		if s.Why[len(s.Why)-1] == samples.Slow {
			slow[s.Worker]++
		}
	}
	if slow["berlin"]+slow["paris"] != 10 || slow["paris"] <= slow["berlin"] || slow["berlin"] == 0 {
		t.Errorf("%v of %d", slow, len(r.Samples))
	}
}
