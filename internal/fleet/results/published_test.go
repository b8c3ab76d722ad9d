package results

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
)

// active is a worker that publishes some of what it does, or loses the answer, and leaves a file at the end.
type active struct {
	journal *Journal
	total   *record.Snapshot
	series  record.Series
}

// second returns what it does in one second of the run.
func (a *active) second(rng *rand.Rand, at int64) *record.Snapshot {
	in, recorder := record.NewSnapshot(a.total.Worker, a.total.Incarnation), record.NewRecorder()
	in.Start, in.End = 1_700_000_000_000_000+at*1_000_000, 1_700_000_000_000_000+(at+1)*1_000_000
	for range rng.IntN(20) {
		s := record.Finished{Sent: rng.Int64N(1e6), Status: 200}
		s.Done = s.Sent + rng.Int64N(1<<(10+rng.IntN(30)))
		if rng.IntN(5) == 0 {
			s.Class = fmt.Sprint("class ", rng.IntN(3))
		}
		recorder.Sent()
		recorder.Done(s)
	}
	in.Record(recorder)
	a.series.Add(at*1_000_000+500_000, in)
	a.total.Merge(in)
	return in
}

// TestReportIsThatOfItsWorkers: the report and its archive equal, byte for byte, those made of all workers' complete
// snapshots and points. That holds whatever Redis has merged. One worker left a file that has more than Redis.
func TestReportIsThatOfItsWorkers(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("x", constant(100), run.Options{})
		rng := rand.New(rand.NewPCG(3, 4))
		var all []*active
		for i := range 4 {
			id := fmt.Sprint("w", i)
			b.member(r, id).renew()
			all = append(all, &active{journal: NewJournal(r, id, "inc"+id), total: record.NewSnapshot(id, "inc"+id)})
		}
		seconds := int64(2100) // points are 4 s wide then
		if testing.Short() {
			if strings.HasSuffix(t.Name(), "embedded") {
				t.Skip("make test-all runs it; what is stored is compared on a real server")
			}
			seconds = 1100 // 2 s
		}
		for at := range seconds {
			for i, a := range all {
				in := a.second(rng, at)
				if last := at == seconds-1; !last && rng.IntN(20) > 0 || i == 3 && at > 3*seconds/4 {
					continue
				}
				a.total.Seq++
				in.Seq, in.Final = a.total.Seq, at == seconds-1
				a.total.Final = in.Final
				if err := a.journal.Publish(t.Context(), in, a.total, &a.series); err != nil {
					t.Fatal(err)
				}
				if rng.IntN(2) == 0 { // the answer was lost
					a.journal.second = max(0, a.journal.second-rng.Int64N(9))
					if err := a.journal.Publish(t.Context(), in, a.total, &a.series); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		last := all[3]
		last.total.Seq, last.total.Final = last.total.Seq+1, true
		file := &Unpublished{Run: "x", UID: r.UID, State: "left", Leased: last.total.Counts.Slots(), Total: last.total, Series: last.series.Points()}
		in, used, err := gather(t.Context(), r, map[string]*Unpublished{file.key(): file})
		if err != nil || used != 1 {
			t.Fatal(used, err)
		}
		then := in
		then.Series, then.Times, then.Workers = nil, nil, nil
		for i, w := range in.Workers {
			w.Total, w.Series = all[i].total, all[i].series.Points()
			then.Workers = append(then.Workers, w)
		}
		now, before := report.Build(in), report.Build(then)
		equalJSON(t, now, before)
		equalJSON(t, now.Histograms, before.Histograms)
		if now.Audit.Sent == 0 || len(now.Series) < 500 || len(now.Errors) != 3 {
			t.Errorf("%d sent, %d points, %v", now.Audit.Sent, len(now.Series), now.Errors)
		}
	})
}

func equalJSON(t *testing.T, a, b any) {
	t.Helper()
	x, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	y, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(x, y) {
		at := 0
		for at < min(len(x), len(y)) && x[at] == y[at] {
			at++
		}
		t.Fatalf("they differ: …%.200s, want …%.200s", x[max(0, at-80):], y[max(0, at-80):])
	}
}
