package render

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loadctl/loadctl/internal/output/printable"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/threshold"
	"github.com/loadctl/loadctl/report/units"
)

// An htmlTile is a key figure.
type htmlTile struct {
	Name, Kind string // Kind is a class of the style sheet
	Main       htmlNumber
	More       []htmlNumber
	Bound      bool   // a lower bound
	Alarm      string // what is wrong with it; "" = nothing
}

// tilesOf returns the key figures: what was asked for, what became of it, and how long it took.
func tilesOf(r report.Report) []htmlTile {
	a := r.Audit
	asked := htmlTile{Name: "asked", Kind: "asked", Main: htmlNumber{Text: "max"}, More: []htmlNumber{{Text: "as fast as it goes"}}}
	if !r.ClosedLoop {
		asked.Main, asked.More = htmlCount("asked", r.Asked), []htmlNumber{{Text: askedRate(r)}}
	}
	tiles := []htmlTile{
		asked,
		{Name: "sent", Kind: "sent", Main: htmlCount("sent", r.Sent), More: []htmlNumber{htmlRate("rate", r.Rate)}},
		{Name: "ok", Kind: "ok", Main: htmlCount("audit.completed", a.Completed), More: []htmlNumber{htmlRate("throughput", r.Throughput)}},
		{Name: "failed", Kind: "failed", Main: htmlCount("audit.failed", a.Failed)},
	}
	if missing := notSent(r); missing != "" {
		tiles[2].Alarm = strings.ReplaceAll(missing, " %", "\u00a0%") + " not sent"
	}
	if !r.HasTimes() {
		return tiles
	}
	tiles[2].More = append(tiles[2].More, htmlShare("success", r.Success))
	if most := slices.SortedFunc(maps.Keys(r.Errors), byFrequency(r)); len(most) > 0 {
		tiles[3].More = []htmlNumber{{Text: printable.Clip(most[0], 20)}, htmlCount("errors."+printable.Clip(most[0], 20), r.Errors[most[0]])}
	}
	for _, p := range []struct {
		name, path string
		q          float64
		ns         int64
	}{{"p50", "p50", 0.5, r.Latency.P50}, {"p99", "p99", 0.99, r.Latency.P99}, {"p99.9", "p999", 0.999, r.Latency.P999}} {
		tiles = append(tiles, htmlTile{Name: "latency " + p.name, Kind: p.path, Main: htmlTime("latency_ns."+p.path, p.ns), More: []htmlNumber{{Text: oneIn(p.q)}},
			Bound: r.LowerBoundsAbove != nil && p.q > *r.LowerBoundsAbove})
	}
	return tiles
}

// byFrequency orders classes of errors, the most frequent first.
func byFrequency(r report.Report) func(x, y string) int {
	return func(x, y string) int { return cmp.Or(cmp.Compare(r.Errors[y], r.Errors[x]), cmp.Compare(x, y)) }
}

// oneIn explains a quantile.
func oneIn(q float64) string {
	return "1 in " + units.Groups(fmt.Sprintf("%.0f", 1/(1-q))) + " is slower"
}

// An htmlAudit is the audit: a sentence about it, its equation, and each term.
type htmlAudit struct {
	Text  string // a sentence about it
	Left  htmlTerm
	Equal string // = or ≠
	Right []htmlTerm
	All   []htmlTerm
}

// An htmlTerm is a number of the audit.
type htmlTerm struct {
	Name, Sign string // +, − or ""
	Number     htmlNumber
}

func auditOf(r report.Report) htmlAudit {
	a := r.Audit
	left, right := report.Term{Name: "asked", N: a.Asked}, a.ReasonTerms()
	if r.ClosedLoop {
		left, right = report.Term{Name: "sent", N: a.Sent}, a.SentTerms()
	}
	out := htmlAudit{Left: htmlTermOf(left), Equal: "="}
	if report.SumTerms(right) != left.N {
		out.Equal = "≠"
	}
	c := r.AuditCheck()
	switch out.Text = htmlText(c.Text); {
	case c.Result == threshold.Passed:
		out.Text = "Every request is accounted for."
	case c.Result == threshold.Undecided && r.State() == report.Incomplete:
		out.Text = "The report is incomplete: see the notes."
	}
	for i, t := range right {
		if i == 0 || t.N != 0 {
			term := htmlTermOf(t)
			if i == 0 {
				term.Sign = ""
			}
			out.Right = append(out.Right, term)
		}
	}
	for _, t := range []report.Term{{Name: "issued", N: a.Issued}, {Name: "asked", N: a.Asked}, {Name: "sent", N: a.Sent},
		{Name: "late_dropped", N: a.LateDropped}, {Name: "skipped", N: a.Skipped}, {Name: "recalled", N: a.Recalled},
		{Name: "lost", N: a.Lost}, {Name: "held", N: a.Held}, {Name: "overrun", N: a.Overrun}, {Name: "ungranted", N: a.Ungranted},
		{Name: "completed", N: a.Completed}, {Name: "failed", N: a.Failed}, {Name: "in_flight", N: a.InFlight}} {
		out.All = append(out.All, htmlTermOf(t))
	}
	return out
}

func htmlTermOf(t report.Term) htmlTerm {
	sign := "+"
	if t.Minus {
		sign = "−"
	}
	return htmlTerm{strings.ReplaceAll(t.Name, "_", " "), sign, htmlCount("audit."+t.Name, t.N)}
}

// limitsOf returns a line for each cause of a limit.
func limitsOf(r report.Report) []string {
	var all []string
	for _, l := range r.Limits() {
		all = append(all, htmlText(l.String()))
	}
	return all[:min(len(all), maxHTMLRows)]
}

// An htmlTimes is a row of the table of times.
type htmlTimes struct {
	Name  string
	Cells []htmlTile // Main and Bound are set
}

func timesOf(r report.Report) []htmlTimes {
	if !r.HasTimes() {
		return nil
	}
	var rows []htmlTimes
	for _, row := range timesRows(r) {
		member := strings.ReplaceAll(row.name, " ", "_") + "_ns."
		out := htmlTimes{Name: row.name, Cells: []htmlTile{{Main: htmlTime(member+"min", row.Min)}, {Main: htmlTime(member+"mean", row.Mean)}}}
		for i, q := range row.Quantiles() {
			name := []string{"p50", "p90", "p95", "p99", "p999", "p9999", "max"}[i]
			out.Cells = append(out.Cells, htmlTile{Main: htmlTime(member+name, q.NS), Bound: row.bound != nil && q.Q > *row.bound})
		}
		rows = append(rows, out)
	}
	return rows
}

// An htmlCounts is a table of names with their counts, the most frequent first.
type htmlCounts struct {
	Title, Name string
	Rows        []htmlCountRow
	Hidden      int
}

type htmlCountRow struct {
	Name   string
	Number htmlNumber
	Share  htmlBar
}

// An htmlBar is a share as a bar and as a text.
type htmlBar struct {
	Width string // out of 100
	Text  string
}

func htmlBarOf(n, of int64) htmlBar {
	share := units.Ratio(float64(n), float64(of))
	return htmlBar{strconv.FormatFloat(100*min(share, 1), 'f', 2, 64), units.Percent(share) + "\u00a0%"}
}

func answersOf(r report.Report) []htmlCounts {
	var all []htmlCounts
	for _, c := range []struct {
		title, name, path string
		counts            map[string]int64
		of                int64
	}{
		{"Failed requests", "class", "errors.", r.Errors, r.Audit.Completed + r.Audit.Failed},
		{"Answers", "status", "status_codes.", r.StatusCodes, r.Audit.Completed + r.Audit.Failed},
	} {
		if len(c.counts) == 0 {
			continue
		}
		const shown = 20
		out := htmlCounts{Title: c.title, Name: c.name, Hidden: max(0, len(c.counts)-shown)}
		names := slices.SortedFunc(maps.Keys(c.counts), func(x, y string) int {
			return cmp.Or(cmp.Compare(c.counts[y], c.counts[x]), cmp.Compare(x, y))
		})
		for _, name := range names[:len(names)-out.Hidden] {
			out.Rows = append(out.Rows, htmlCountRow{htmlText(name), htmlCount(htmlText(c.path+name), c.counts[name]), htmlBarOf(c.counts[name], c.of)})
		}
		all = append(all, out)
	}
	return all
}

// An htmlWorker is a row of the table of workers.
type htmlWorker struct {
	ID, State, CPU, Verdicts  string
	Sent, Late, Dropped, Busy htmlNumber
	Share                     htmlBar
	Bad                       bool // a limit was met
}

func workersOf(r report.Report) (rows []htmlWorker, hidden int) {
	shown := r.Workers[:min(len(r.Workers), maxHTMLRows)]
	for i, w := range shown {
		path := fmt.Sprintf("workers.%d.", i)
		row := htmlWorker{
			ID: htmlText(w.ID), State: htmlText(w.State), CPU: "–",
			Sent: htmlCount(path+"sent", w.Sent), Late: htmlCount(path+"seen_late", w.SeenLate), Dropped: htmlCount(path+"late_dropped", w.LateDropped),
			Busy: htmlCount(path+"busy", w.Busy), Share: htmlBarOf(w.Sent, r.Sent), Bad: len(w.Verdicts) > 0,
		}
		if cpu, has := w.Self.Load["cpu"]; has {
			row.CPU = fmt.Sprintf("%.0f\u00a0%%, at most %.0f\u00a0%%", 100*cpu.Mean, 100*cpu.Worst)
		}
		if !w.Final && !r.Running {
			row.State += ", final snapshot missing"
		}
		var causes []string
		for _, v := range w.Verdicts {
			causes = append(causes, v.Limit+": "+strings.ReplaceAll(v.Cause, "_", " "))
		}
		row.Verdicts = htmlText(cmp.Or(strings.Join(causes, ", "), "none"))
		if w.Self.MeasuredS == 0 {
			row.Verdicts = htmlText(cmp.Or(strings.Join(causes, ", "), "not measured"))
		}
		rows = append(rows, row)
	}
	return rows, len(r.Workers) - len(shown)
}

// An htmlFact is a fact that describes the run.
type htmlFact struct {
	Name, Text string
	Code       bool
}

func specOf(r report.Report) []htmlFact {
	d := r.Described
	facts := []htmlFact{{"target", d.Target(), true}, {"flags", d.Line(), true}, {"withheld", strings.Join(d.Withheld, ", "), false},
		{"limiter", r.Limiter, false}, {"warm-up", "", false}, {"created by", d.CreatedBy, false}, {"reported by", d.ReportedBy, false}, {"Redis", d.Redis, false}}
	if r.WarmupS > 0 {
		facts[4].Text = (time.Duration(r.WarmupS * float64(time.Second))).String()
	}
	if d.Hosts > 0 {
		facts = append(facts, htmlFact{"hosts", units.Groups(strconv.Itoa(d.Hosts)), false})
	}
	if r.BytesIn+r.BytesOut > 0 {
		facts = append(facts, htmlFact{"bytes", "in " + units.Bytes(r.BytesIn) + ", out " + units.Bytes(r.BytesOut), false})
	}
	if r.MessagesIn > 0 {
		facts = append(facts, htmlFact{"messages", "in " + units.Groups(strconv.FormatInt(r.MessagesIn, 10)), false})
	}
	facts = slices.DeleteFunc(facts, func(f htmlFact) bool { return f.Text == "" })
	for i := range facts {
		facts[i].Text = htmlText(facts[i].Text)
	}
	return facts
}
