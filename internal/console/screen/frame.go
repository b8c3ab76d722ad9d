package screen

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/results"
	"github.com/loadctl/loadctl/internal/output/printable"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/units"
)

// A view is all that a frame shows.
type view struct {
	run, quit     string
	look          *results.Look    // nil = nothing is known yet
	fleet         []results.Member // those with problems first
	trouble, said string
	refused       bool
	log           []string
	readOnly      bool
	width, height int

	asks  question
	typed string
	wrong string // with what is typed

	inks inks
}

// Two columns of sections need this many columns of the terminal.
const twoColumns = 150

// full returns the lines of a frame that fills the terminal, keys at the bottom.
func (v view) full() []string {
	foot := []string{v.answer(), v.footer()}
	room := max(0, v.height-len(foot))
	lines := v.body(room)
	lines = lines[:min(len(lines), room)]
	for len(lines) < room {
		lines = append(lines, "")
	}
	lines = append(lines, foot...)
	lines = lines[max(0, len(lines)-max(1, v.height)):] // of a very low terminal, the keys
	for i := range lines {
		lines[i] = fit(lines[i], v.width)
	}
	return lines
}

// last returns the lines of the frame that stays: without keys.
func (v view) last() []string {
	lines := v.body(max(0, v.height-1))
	for i := range lines {
		lines[i] = fit(lines[i], v.width)
	}
	return lines
}

// body returns a frame without its keys, in at most so many rows. Sections share the rows that the figures leave.
func (v view) body(rows int) []string {
	if v.look == nil {
		return []string{v.inks.strong.Render(cell(v.run, v.width)), v.inks.doubt.Render(cell(cmp.Or(v.trouble, "asking Redis …"), v.width))}
	}
	head, figures := v.head(), append(v.figures(), "")
	left, right := []section{v.checks(), v.messages(), v.workers(), v.labels(), v.events()}, []section{}
	if v.width >= twoColumns {
		left, right = []section{v.checks(), v.labels(), v.messages()}, []section{v.workers(), v.events()}
	}
	rows -= len(head) + len(figures)
	lines := slices.Concat(head, v.rates(rows-max(filling(left), filling(right))), figures)
	rows -= len(lines) - len(head) - len(figures)
	if len(right) == 0 {
		return append(lines, v.stack(rows, v.width, left)...)
	}
	return append(lines, v.beside(v.stack(rows, v.column(), left), v.stack(rows, v.column(), right))...)
}

// beside returns two columns of lines.
func (v view) beside(left, right []string) (lines []string) {
	for i := range max(len(left), len(right)) {
		lines = append(lines, cellOf(left, i, v.column())+"  "+cellOf(right, i, v.column()))
	}
	return lines
}

// column returns the width of a section.
func (v view) column() int {
	if v.width < twoColumns {
		return v.width
	}
	return (v.width - 2) / 2
}

// cellOf returns a line that has styles in exactly this many columns; "" if there is no such line.
func cellOf(lines []string, i, width int) string {
	line := ""
	if i < len(lines) {
		line = fit(lines[i], width)
	}
	return padded(line, width)
}

// filling returns how many rows sections would fill.
func filling(all []section) (n int) {
	for _, s := range all {
		if s.items > 0 {
			n += 1 + s.items
		}
	}
	return n
}

// stack returns sections below each other, in at most so many rows.
func (v view) stack(rows, width int, all []section) []string {
	wants := make([]int, len(all))
	for i, s := range all {
		wants[i] = s.items
	}
	var lines []string
	for i, n := range allot(rows, wants) {
		lines = append(lines, all[i].lines(v.inks, width, n)...)
	}
	return lines
}

// head says which run this is, what it does, and for how much longer.
func (v view) head() []string {
	l := v.look
	phase := v.inks.good
	if l.Phase != "running" {
		phase = v.inks.doubt
	}
	first := v.inks.strong.Render(cell(v.run, min(len(v.run), v.width/2))) + "  " + phase.Render(printable.Line(l.Phase))
	first += "  " + v.rateText() + "  " + v.timeText() + "  " + v.workersText()
	switch {
	case v.trouble != "":
		return []string{first, v.inks.bad.Render(cell(v.trouble, v.width))}
	case l.Members == 0 && l.Phase == "running":
		return []string{first, v.inks.bad.Render("NO WORKERS: nothing is sent until one joins")}
	case l.Limiter != "":
		return []string{first, v.inks.faint.Render(cell("limiter: "+l.Limiter, v.width))}
	}
	return []string{first, ""}
}

// rate returns the rate asked for, in requests per second; of a run that waits or is paused, the rate to come.
func (v view) rate() float64 {
	return cmp.Or(v.look.Rate, v.look.RateThen) * v.steps()
}

// steps returns how many requests a slot makes on average.
func (v view) steps() float64 { return cmp.Or(v.look.StepsPerFlow, 1) }

// rateText says what is asked for now, and what comes next.
func (v view) rateText() string {
	l := v.look
	switch {
	case l.Concurrency > 0:
		return fmt.Sprintf("c=%d in flight", l.Concurrency)
	case l.Report.ClosedLoop:
		return "max (closed loop)"
	case !l.EndedAt.IsZero():
		return rate(l.Report.TargetRate*v.steps()) + "/s"
	case l.Phase != "running":
		return "then " + rate(l.RateThen*v.steps()) + "/s"
	case l.RateThen != l.Rate:
		return rate(l.Rate*v.steps()) + "/s, then " + rate(l.RateThen*v.steps()) + "/s"
	case l.Factor > 0:
		return rate(l.Rate*v.steps()) + "/s, " + units.OfPlan(l.Factor)
	}
	return rate(l.Rate*v.steps()) + "/s"
}

// timeText says how long the run has gone on, and how long it will.
func (v view) timeText() string {
	l := v.look
	text := clock(l.Report.Length())
	switch left := l.Left(); {
	case l.LeftNS > 0:
		return text + ", " + clock(l.LeftNS) + " left after the pause"
	case left > 0:
		return text + ", " + clock(left) + " left"
	case l.Phase == "waiting" && l.MinWorkers == 0:
		return "waits for loadctl start"
	case l.Phase == "waiting":
		return fmt.Sprintf("begins with %d workers", l.MinWorkers)
	case l.EndedAt.IsZero():
		return text + ", until it is stopped"
	}
	return text
}

func (v view) workersText() string {
	if v.look.Members == 1 {
		return "1 worker"
	}
	return count(v.look.Members) + " workers"
}

// tallest is the most rows of a plot.
const tallest = 5

// rates are what was asked for, sent and answered well: in all, in the newest second, and over time. The plots share rows,
// but each has at least one.
func (v view) rates(rows int) []string {
	l := v.look
	c := l.Counts
	points := v.points()
	kinds := []struct {
		name  string
		total int64
		of    func(report.SeriesReport) int64
	}{
		{"asked", l.AskedAt, func(p report.SeriesReport) int64 { return p.Asked }},
		{"sent", c.Sent, func(p report.SeriesReport) int64 { return p.Sent }},
		{"ok", c.Completed, func(p report.SeriesReport) int64 { return p.OK }},
	}
	if l.Report.ClosedLoop {
		kinds = kinds[1:]
	}
	high := max(1, min(rows/len(kinds), tallest))
	var top int64
	for _, p := range points {
		top = max(top, p.Asked, p.Sent, p.OK)
	}
	var lines []string
	for _, k := range kinds {
		var values []int64
		now := ""
		for _, p := range points {
			values = append(values, k.of(p))
		}
		if n := len(values); n > 0 {
			now = measured(float64(values[n-1])/float64(max(1, l.Report.SeriesWidthS))) + "/s"
		}
		plot := spark(values, top, v.width-36, high)
		for i, line := range plot {
			begin := strings.Repeat(" ", 35)
			if i == len(plot)-1 {
				begin = cell(k.name, 8) + number(count(k.total), 14) + number(now, 13)
			}
			lines = append(lines, begin+" "+line)
		}
	}
	return lines
}

// points are those of the series of which all snapshots are in.
func (v view) points() []report.SeriesReport {
	r := v.look.Report
	until := v.look.At.Sub(r.StartedAt)
	return slices.DeleteFunc(slices.Clone(r.Series), func(p report.SeriesReport) bool {
		end := time.Duration(p.T+max(1, r.SeriesWidthS)) * time.Second
		return r.Running && end > until
	})
}

// figures are failures, latency, first bytes and events of answers if there are any, goodput if there are goals, and lag.
func (v view) figures() []string {
	l := v.look
	c := l.Counts
	failed := cell("failed", 8) + number(count(c.Failed), 14)
	if c.Failed > 0 {
		failed = v.inks.bad.Render(failed) + "  " + cell(frequent(l.Report.Errors), max(0, v.width-24-34))
	} else {
		failed = padded(failed, v.width-34)
	}
	failed += number("late "+count(c.LateDropped), 16) + number("in flight "+count(l.InFlight), 18)
	lines := []string{failed, v.times("latency", l.Report.Latency, l.Latency)}
	if l.Report.FirstBytes > 0 {
		lines = append(lines, v.times("1st byte", l.Report.FirstByte, nil))
	}
	if s := l.Report.Streams; s.Any() {
		lines = append(lines, v.times("1st evt", s.FirstEvent, nil), v.times("gap", s.EventGap, nil))
	}
	if g := l.Report.Goodput; g.Any() {
		lines = append(lines, cell("goodput", 8)+number(count(g.Good), 14)+number(measured(g.Rate)+"/s", 13)+"  "+units.Percent(g.Share)+" % of "+count(g.Judged)+" met their goals")
	}
	return append(lines, v.times("lag", l.Report.Lag, nil))
}

// times is a line of percentiles: of the whole run and, if it is given, of the newest second.
func (v view) times(name string, d record.Distribution, newest *record.Histogram) string {
	var line strings.Builder
	line.WriteString(cell(name, 8))
	for _, q := range []struct {
		name string
		ns   int64
	}{{"p50", d.P50}, {"p90", d.P90}, {"p99", d.P99}, {"p99.9", d.P999}, {"max", d.Max}} {
		line.WriteString(" " + v.inks.faint.Render(number(q.name, 5)) + " " + cell(spent(q.ns), 7))
	}
	if newest != nil && newest.Count() > 0 {
		line.WriteString(v.inks.faint.Render("  last second p50 ") + spent(newest.Quantile(0.5)) + v.inks.faint.Render(" p99 ") + spent(newest.Quantile(0.99)))
	}
	return line.String()
}

// frequent names the most frequent classes of errors.
func frequent(errors map[string]int64) string {
	names := slices.SortedFunc(maps.Keys(errors), func(a, b string) int { return cmp.Or(cmp.Compare(errors[b], errors[a]), cmp.Compare(a, b)) })
	for i, name := range names {
		names[i] = name + " " + count(errors[name])
	}
	return strings.Join(names, ", ")
}

// count formats a number of things.
func count(n int64) string { return units.Groups(strconv.FormatInt(n, 10)) }

// measured formats requests per second that were counted, as reports do.
func measured(v float64) string { return units.Groups(units.Rate(v)) }

// rate formats requests per second that are asked for, to a thousandth.
func rate(v float64) string { return units.Groups(units.Thousandths(v)) }

// spent formats a time that something took; – if nothing did.
func spent(ns int64) string {
	if ns == 0 {
		return "–"
	}
	return units.Duration(ns)
}

// clock formats a time since the start: 1:05, or 2:01:05.
func clock(d time.Duration) string {
	s := int64(d.Round(time.Second) / time.Second)
	if s < 3600 {
		return fmt.Sprintf("%d:%02d", s/60, s%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}
