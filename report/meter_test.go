package report_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
)

// TestMeter: an open loop of 100 a second, whose endpoint stalls for half a second, in virtual time. No request is left
// out, and latency counts from when a request was due.
func TestMeter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		profile := pacer.Constant(pacer.PerSecond(100), 3*time.Second)
		meter := report.NewMeter(profile)
		start := time.Now()
		for k, due := range profile.Pace(t.Context()) {
			meter.Go(due, func() record.Finished {
				time.Sleep(10 * time.Millisecond)
				if stall := start.Add(1500 * time.Millisecond); time.Now().After(start.Add(time.Second)) && time.Now().Before(stall) {
					time.Sleep(time.Until(stall))
				}
				if k%10 == 0 {
					return record.Finished{Status: 503, Class: "status", BytesIn: 7}
				}
				return record.Finished{Status: 200}
			})
		}
		r := meter.Report()
		if r.Asked != 300 || r.Sent != 300 || r.Audit.Completed != 270 || r.Audit.Failed != 30 || !r.Complete || r.DurationS != 3 || r.TargetRate != 100 {
			t.Errorf("asked %d, sent %d, %+v, complete %v, %v s at %v/s", r.Asked, r.Sent, r.Audit, r.Complete, r.DurationS, r.TargetRate)
		}
		if r.StatusCodes["503"] != 30 || r.BytesIn != 210 || r.Errors["status"] != 30 {
			t.Errorf("status %v, bytes %d, errors %v", r.StatusCodes, r.BytesIn, r.Errors)
		}
		most, least := time.Duration(r.Latency.Max), time.Duration(r.Latency.Min)
		if most < 495*time.Millisecond || most > 505*time.Millisecond || least < 9900*time.Microsecond || least > 10100*time.Microsecond || r.Lag.Max > 1000 {
			t.Errorf("latency from %v to %v, lag up to %d ns", least, most, r.Lag.Max)
		}
		if n := len(r.Series); n != 4 || r.Series[1].Asked != 100 || r.Series[1].Sent != 100 || r.Series[3].OK != 1 { // the last answer
			t.Errorf("%d seconds: %+v", n, r.Series)
		}
	})
}

func TestMeterOfNothing(t *testing.T) {
	if r := report.NewMeter(pacer.Constant(pacer.PerSecond(1), 0)).Report(); r.Asked != 0 || !r.Complete {
		t.Errorf("%+v", r)
	}
}
