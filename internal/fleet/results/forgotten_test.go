package results

import (
	"testing"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
)

// TestOldStateAndAStop: a server that went back to a state of before a worker joined counts the joiner's slots for two workers.
// Then both workers receive a stop late. What they sent beyond it does not hide how many slots are counted twice.
func TestOldStateAndAStop(t *testing.T) {
	worker := func(leased, sent, beyond int64) report.WorkerInput {
		total := record.NewSnapshot("w", "inc")
		total.Counts = record.Counts{Sent: sent, Completed: sent, Beyond: beyond}
		return report.WorkerInput{Leased: leased + beyond, Beyond: beyond, Gone: true, Total: total}
	}
	const asked = 100
	in := report.Input{Workers: []report.WorkerInput{worker(75, 52, 2), worker(50, 51, 1)}}
	in.Budget.Issued = in.Workers[0].Leased + in.Workers[1].Leased
	settle(&in, asked)
	if a := report.Build(in).Audit; a.Check() != nil || a.Asked != asked || a.Sent != 103 || a.Overrun != 3 || a.Lost+a.Recalled > 0 {
		t.Errorf("%v, %+v", a.Check(), a)
	}
}
