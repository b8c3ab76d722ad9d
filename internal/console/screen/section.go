package screen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loadctl/loadctl/internal/fleet/results"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/threshold"
	"github.com/loadctl/loadctl/report/units"
)

// A section is a table of a frame. The most important rows come first: there may be room for only some.
type section struct {
	title string // with the names of the columns
	items int
	row   func(i, width int) string
}

// lines returns the section in so many rows, its title included.
func (s section) lines(k inks, width, rows int) []string {
	if rows == 0 {
		return nil
	}
	all := []string{k.faint.Render(cell(s.title, width))}
	room := rows - 1
	shown := min(s.items, room)
	if s.items > room && room > 1 {
		shown = room - 1
	}
	for i := range shown {
		all = append(all, fit(s.row(i, width), width))
	}
	if hidden := s.items - shown; hidden > 0 && len(all) < rows {
		all = append(all, k.faint.Render(cell(fmt.Sprintf("… and %d more", hidden), width)))
	}
	return all
}

// checks are the thresholds, the audit and the generator.
func (v view) checks() section {
	r := v.look.Report
	all := r.ThresholdChecks()
	for _, c := range []report.Check{r.AuditCheck(), r.GeneratorCheck()} {
		if !r.Running || c.Result == threshold.Failed { // until the end, nothing else can be said of them
			all = append(all, c)
		}
	}
	title := "CHECKS"
	if r.Running {
		title += " so far"
	}
	return section{title, len(all), func(i, width int) string {
		c := all[i]
		name := min(34, width/3)
		return v.inks.result(c.Result).Render(cell(c.Result, 10)) + cell(c.Name, name) + " " + cell(c.Text, width-11-name)
	}}
}

// labels are the steps of a workload.
func (v view) labels() section {
	all := v.look.Report.Steps
	name := func(width int) int { return max(8, width-4*11-2) }
	title := func(width int) string {
		return cell("LABELS", name(width)) + number("ok", 11) + number("failed", 11) + number("p50", 11) + number("p99", 11)
	}
	return section{title(v.column()), len(all), func(i, width int) string {
		s := all[i]
		failed := number(count(s.Failed), 11)
		if s.Failed > 0 {
			failed = v.inks.bad.Render(failed)
		}
		return cell(s.Name, name(width)) + number(count(s.Completed), 11) + failed + number(spent(s.Latency.P50), 11) + number(spent(s.Latency.P99), 11)
	}}
}

// workers are the processes of the fleet, those with problems first.
func (v view) workers() section {
	fleet := v.fleet
	title := cell(fmt.Sprintf("WORKERS %s", states(fleet)), max(0, 28)) + cell("state", 9) + number("share", 9) + number("sent/s", 10) + number("lag p99", 10)
	return section{title, len(fleet), func(i, width int) string {
		m := fleet[i]
		state := v.inks.good
		if m.State != "active" {
			state = v.inks.doubt
		}
		line := cell(m.ID, 27) + " " + state.Render(cell(m.State, 9)) + number(units.Percent(m.Share)+" %", 9) + number(measured(m.Rate), 10) + number(spent(m.LagP99NS), 10)
		if len(m.Verdicts) > 0 {
			line += "  " + v.inks.doubt.Render(cell(m.Verdicts[0].Text, width-67))
		}
		return line
	}}
}

// states says how many processes are in which state.
func states(fleet []results.Member) string {
	n := map[string]int{}
	var names []string
	for _, m := range fleet {
		if n[m.State]++; n[m.State] == 1 {
			names = append(names, m.State)
		}
	}
	slices.Sort(names)
	for i, name := range names {
		names[i] = fmt.Sprintf("%d %s", n[name], name)
	}
	return strings.Join(names, ", ")
}

// events are what happened, the newest first.
func (v view) events() section {
	all := slices.Clone(v.look.Report.Events)
	slices.Reverse(all)
	return section{"CHANGES newest first", len(all), func(i, width int) string {
		e := all[i]
		since := clock(e.At.Sub(v.look.Report.StartedAt))
		if v.look.Report.StartedAt.IsZero() || e.At.Before(v.look.Report.StartedAt) {
			since = e.At.Format("15:04:05")
		}
		return v.inks.faint.Render(number(since, 8)) + " " + cell(said(e), width-9)
	}}
}

// said returns an event in words: who did what.
func said(e report.Event) string {
	text := e.Who + " " + e.Kind
	if e.What != "" {
		text += ": " + e.What
	}
	return text
}

// messages are those of this process, the newest first.
func (v view) messages() section {
	return section{"MESSAGES of this process, newest first", len(v.log), func(i, width int) string {
		return cell(v.log[len(v.log)-1-i], width)
	}}
}
