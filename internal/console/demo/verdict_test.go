package demo

import (
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
)

// total returns the report that belongs to played: 492 of the requests asked for never came.
func total() report.Report {
	return report.Report{
		Lag:     record.Distribution{Max: int64(84_260 * time.Microsecond)},
		Audit:   report.Audit{Asked: 18_004, Sent: 17_000, Lost: 1000, LateDropped: 3, Skipped: 1},
		Workers: []report.WorkerReport{{ID: "w1", Final: true}, {ID: "w2", State: "removed"}, {ID: "w3", Final: true}},
	}
}

// balance makes the audit add up.
func balance(a *report.Audit) {
	a.Completed = a.Sent
	a.Issued = a.Sent + a.LateDropped + a.Skipped + a.Lost
	a.Overrun, a.Ungranted = max(0, a.Issued-a.Asked), max(0, a.Asked-a.Issued)
}

// verdictCase changes what belongs to played, and has the expected text.
type verdictCase struct {
	name   string
	change func(r *report.Report, seconds []second)
	says   []string
	fails  string // what check says; "" = nothing
}

func TestVerdictOnSeconds(t *testing.T) {
	judged(t, []verdictCase{
		{
			name: "too busy",
			change: func(_ *report.Report, seconds []second) {
				seconds[1].arrived, seconds[3].arrived = 1020, 2960
			},
			says: []string{"2 of the 3 steady seconds are MORE than 1 % off what was asked; the worst is second 1, +2.00 %. " +
				"The likely reason is that this machine was too busy: requests left up to 84.3ms after they were due (the row lag of the report)."},
		},
		{
			name: "no second left",
			change: func(_ *report.Report, seconds []second) {
				for i := range seconds {
					seconds[i].whole = false
				}
			},
			says: []string{"No second was steady"},
		},
		{
			name:   "back at once, but not for good",
			change: func(_ *report.Report, seconds []second) { seconds[5].arrived, seconds[7].arrived = 3001, 600 },
			says:   []string{"After the kill in second 4 the rate was back in second 5, but off again in 7."},
		},
		{
			name: "never back",
			change: func(r *report.Report, seconds []second) {
				r.Audit.Sent = 16_500
				for i := 5; i <= 8; i++ {
					seconds[i].arrived = seconds[i].asked * 9 / 10
				}
			},
			says: []string{"After the kill the rate was NOT back within 5 s."},
		},
	})
}

func TestVerdictOnCounts(t *testing.T) {
	judged(t, []verdictCase{
		{
			name:   "as it should be",
			change: func(*report.Report, []second) {},
			says: []string{
				"Asked 18004; sent 17000, as the workers report; arrived 17601, as the target counted; lost with the killed worker 1000; too late to send 4.",
				"sent <= arrived <= sent + lost holds, 17000 <= 17601 <= 18000: of the lost, the dead worker had sent 601 after its last report, and 399 never came.",
				"The steady seconds (1 3 9) are within 1 % of what was asked; the worst is second 3, +0.07 %. " +
					"After the kill in second 4 the rate was back in second 6.",
			},
		},
		{
			name: "nothing late, one request at a low rate",
			change: func(r *report.Report, seconds []second) {
				r.Audit.LateDropped, r.Audit.Skipped = 0, 0
				seconds[1] = second{asked: 5, arrived: 6, whole: true}
			},
			says:  []string{"lost with the killed worker 1000.", "are within 1 %, or one request, of what was asked; the worst is second 1, +20.00 %."},
			fails: "compare the counts: 16607 arrived, which is not from 17000 sent to 18000 with those lost; please report this as a bug",
		},
		{
			name:   "more arrived than can be",
			change: func(r *report.Report, _ []second) { r.Audit.Lost = 600 },
			says:   []string{"The counts CONTRADICT each other: sent <= arrived <= sent + lost is 17000 <= 17601 <= 17600."},
			fails:  "17601 arrived",
		},
		{
			name:   "less arrived than was sent",
			change: func(r *report.Report, _ []second) { r.Audit.Sent = 17_602 },
			says:   []string{"CONTRADICT"},
			fails:  "17601 arrived",
		},
		{
			name: "incomplete",
			change: func(r *report.Report, _ []second) {
				r.Workers[0].Final, r.Notes = false, []string{"one thing", "another"}
			},
			says:  []string{"CONTRADICT"},
			fails: "read the report: it is incomplete (one thing; another); please report this as a bug",
		},
	})
}

// judged compares the text with the expected one.
func judged(t *testing.T, cases []verdictCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r, seconds := total(), played()
			c.change(&r, seconds)
			balance(&r.Audit)
			sentences := verdict(r, seconds)
			for _, says := range c.says {
				if !strings.Contains(strings.Join(sentences, "\n"), says) {
					t.Errorf("%q is not in\n%s", says, strings.Join(sentences, "\n"))
				}
			}
			err := check(r, seconds)
			if c.fails == "" && err != nil || c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)) {
				t.Errorf("check: %v, want %q", err, c.fails)
			}
		})
	}
}
