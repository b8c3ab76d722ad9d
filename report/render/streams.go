package render

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/loadctl/loadctl/internal/output/page"
	"github.com/loadctl/loadctl/internal/output/printable"
	"github.com/loadctl/loadctl/internal/output/table"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/units"
)

// A streamTime is one of the times of answers in pieces.
type streamTime struct {
	member string // of the JSON report, without _ns
	name   string // for people
	help   string
	record.Distribution
	due bool // it counts from when a request was due
}

// streamTimes returns those of which anything is known, in their order. Of language models they have the names of the field too.
func streamTimes(s report.Streams, closed bool) (all []streamTime) {
	if !s.Any() {
		return nil
	}
	names := [...]string{"first event", "event gap"}
	if s.Tokens.Any() {
		names = [...]string{"first event (TTFT)", "event gap (ITL)"}
	}
	all = append(all, streamTime{"first_event", names[0], "From when a request was due to the first event of its answer.", s.FirstEvent, true})
	if !closed { // there it equals the first event
		all = append(all, streamTime{"first_event_service", "first event − sent", "From when a request was sent to the first event of its answer.", s.FirstEventService, false})
	}
	all = append(all, streamTime{"event_gap", names[1], "Between consecutive events of an answer, of all answers.", s.EventGap, false})
	if s.Tokens.Any() {
		all = append(all, streamTime{"tokens.per_token", "per token (TPOT)", "From the first to the last event of an answer, by its tokens after the first.", s.Tokens.PerToken, false})
	}
	all = append(all, streamTime{"stream", "stream", "From when a request was due to the last event of its answer.", s.Stream, true})
	return slices.DeleteFunc(all, func(t streamTime) bool { return t.Distribution == record.Distribution{} })
}

// streamRows returns the times of answers in pieces, if there were any.
func streamRows(r report.Report) (rows []table.Row) {
	for _, s := range streamTimes(r.Streams, r.ClosedLoop) {
		path, above := "streams."+s.member+"_ns.", 1.
		if s.due {
			above = lowerBoundsAbove(r)
		}
		cells := []table.Cell{duration(path+"min", s.Min), duration(path+"mean", s.Mean)}
		rows = append(rows, table.Row{Name: s.name, Cells: append(cells, quantiles(path, s.Distribution, above)...)})
	}
	return rows
}

// streamFacts returns what else is known of answers in pieces: a name and a sentence each.
func streamFacts(s report.Streams, g report.Goodput) (facts [][2]string) {
	if s.Any() {
		n := s.EventsPerAnswer
		facts = append(facts, [2]string{"events", fmt.Sprintf("%d in %d answers, %s/s, an answer has p50 %d, p99 %d, max %d", s.Events, s.Answers, units.Rate(s.EventRate), n.P50, n.P99, n.Max)})
	}
	if t := s.Tokens; t.Any() {
		in := "" // not known
		if t.In > 0 {
			in = fmt.Sprintf("in %d, ", t.In)
		}
		facts = append(facts, [2]string{"tokens", fmt.Sprintf("%sout %d, %s/s out, usage in %d of %d answers", in, t.Out, units.Rate(t.OutRate), t.Usages, s.Answers)})
	}
	if g.Any() {
		facts = append(facts, [2]string{"goodput", fmt.Sprintf("%d of %d answers met their goals, %s/s, %s %%", g.Good, g.Judged, units.Rate(g.Rate), units.Percent(g.Share))})
	}
	return facts
}

// textStreams writes the table of times of answers in pieces, and the lines below it.
func textStreams(b *bytes.Buffer, r report.Report) {
	rows, facts := streamRows(r), streamFacts(r.Streams, r.Goodput)
	if len(rows) > 0 {
		width := 0
		for _, row := range rows {
			width = max(width, utf8.RuneCountInString(row.Name))
		}
		table.Text(b, width+2, "streams", timesColumns()...)
		for _, row := range rows {
			table.Text(b, width+2, row.Name, row.Texts(len(row.Cells))...)
		}
	}
	for _, f := range facts {
		printable.Fprintf(b, "%-12s%s\n", f[0], f[1])
	}
	if len(facts) > 0 {
		b.WriteByte('\n')
	}
}

// textStepStreams writes what is known of the answers in pieces of a step.
func textStepStreams(b *bytes.Buffer, s report.StepReport, closed bool) {
	for _, t := range streamTimes(s.Streams, closed) {
		printable.Fprintf(b, "  %s: p50 %s, p99 %s, max %s\n", t.name, units.Duration(t.P50), units.Duration(t.P99), units.Duration(t.Max))
	}
	for _, f := range streamFacts(s.Streams, s.Goodput) {
		printable.Fprintf(b, "  %s: %s\n", f[0], f[1])
	}
}

// markdownStreams writes what is known of answers in pieces beside their times.
func markdownStreams(b *bytes.Buffer, r report.Report) {
	facts := streamFacts(r.Streams, r.Goodput)
	for _, f := range facts {
		fmt.Fprintf(b, "- %s: %s\n", f[0], f[1])
	}
	if len(facts) > 0 {
		b.WriteByte('\n')
	}
}

// streams writes the same on the page.
func (m *markup) streams(r report.Report) {
	facts := streamFacts(r.Streams, r.Goodput)
	if len(facts) == 0 {
		return
	}
	m.Section("streams", "", "Answers in pieces")
	if rows := streamRows(r); len(rows) > 0 {
		m.Table("numbers", "Times of answers in pieces, by percentile", page.Columns(append([]string{"of"}, timesColumns()...)...)...)
		table.HTML(&m.Markup, maxHTMLText, rows)
		m.EndTable()
	}
	m.Raw(`<dl class="spec wide">`)
	for _, f := range facts {
		m.Put("<div><dt>%s</dt><dd>%s</dd></div>\n", f[0], f[1])
	}
	m.Raw("</dl></section>\n")
}

// Names of charts of answers in pieces.
const (
	firstEventChart = "first-event"
	eventGapChart   = "event-gap"
)

// streamCharts returns the charts of answers in pieces; none without any.
func streamCharts(r report.Report) []htmlChart {
	if !r.Streams.Any() {
		return nil
	}
	from := "from the time a request was due"
	if r.ClosedLoop {
		from = "from sending"
	}
	return []htmlChart{
		{Name: firstEventChart, Title: "First event over time", Hint: "Percentiles of each point, " + from + " to the first event of its answer. An answer counts when it has ended."},
		{Name: eventGapChart, Title: "Event gap over time", Hint: "Percentiles of each point, between consecutive events of an answer."},
	}
}

// streamsNotDrawn says why such a chart would be empty; "" if it is not.
func streamsNotDrawn(r report.Report, chart string) string {
	for _, p := range r.Series {
		of := p.Streams.FirstEvent
		if chart == eventGapChart {
			of = p.Streams.EventGap
		}
		if of.P50 > 0 {
			return ""
		}
	}
	if chart == eventGapChart && r.Streams.EventGap.Max == 0 {
		return "No answer has a second event."
	}
	return "The series has no answers in pieces."
}

// stepStreamColumns returns the head of the cells of stepStreamRows.
func stepStreamColumns() []string {
	return []string{"#first event p50", "#p99", "#event gap p50", "#p99", "#stream p99", "#events", "#good"}
}

// stepStreamRows returns the figures of each step that had answers in pieces, or goals.
func stepStreamRows(r report.Report) (rows []table.Row) {
	for i, s := range r.Steps {
		if !s.Streams.Any() && !s.Goodput.Any() {
			continue
		}
		path := fmt.Sprintf("steps.%d.", i)
		cells := make([]table.Cell, 6)
		if of := s.Streams; of.Any() {
			in := path + "streams."
			cells = []table.Cell{duration(in+"first_event_ns.p50", of.FirstEvent.P50), duration(in+"first_event_ns.p99", of.FirstEvent.P99), {}, {}, {}, count(in+"events", of.Events)}
			if of.EventGap.Max > 0 {
				cells[2], cells[3] = duration(in+"event_gap_ns.p50", of.EventGap.P50), duration(in+"event_gap_ns.p99", of.EventGap.P99)
			}
			if of.Stream.Max > 0 {
				cells[4] = duration(in+"stream_ns.p99", of.Stream.P99)
			}
		}
		good := table.Cell{}
		if s.Goodput.Any() {
			good = share(path+"goodput.share", s.Goodput.Share)
		}
		cells = append(cells, good)
		for i := range cells {
			cells[i].Class = "n"
		}
		rows = append(rows, table.Row{Name: s.Name, Cells: cells})
	}
	return rows
}

// streams writes the times and counts of answers in pieces, and how many met their goals; in all and by step. How many times
// there were is in no JSON report, so it is not here either.
func (m *metrics) streams(r report.Report) {
	if s := r.Streams; s.Any() {
		m.gauge("loadctl_streamed_answers", "", "Answers in pieces that ended.", float64(s.Answers))
		m.gauge("loadctl_streamed_events", "", "Their events.", float64(s.Events))
	}
	if t := r.Streams.Tokens; t.Any() {
		m.family("loadctl_tokens", "gauge", "", "Tokens of a language model.")
		if t.In > 0 {
			m.sample("loadctl_tokens", float64(t.In), "direction", "in")
		}
		m.sample("loadctl_tokens", float64(t.Out), "direction", "out")
		m.gauge("loadctl_usages", "", "Answers whose usage said how many tokens there were.", float64(t.Usages))
	}
	if g := r.Goodput; g.Any() {
		m.gauge("loadctl_goals_judged", "", "Answers that had goals.", float64(g.Judged))
		m.gauge("loadctl_goals_met", "", "Answers that met all their goals.", float64(g.Good))
	}
	for _, s := range streamTimes(r.Streams, false) {
		name := "loadctl_" + s.metric()
		m.family(name+"_seconds", "summary", "seconds", s.help)
		m.quantiles(name+"_seconds", s.Distribution)
		m.ends(name, s.Distribution)
	}
	m.stepStreams(r)
}

// metric returns the name of a metric without its begin and its unit.
func (s streamTime) metric() string { return strings.TrimPrefix(s.member, "tokens.") }

// stepStreams writes those of steps.
func (m *metrics) stepStreams(r report.Report) {
	for _, all := range streamTimes(r.Streams, false) {
		name, begun := "loadctl_step_"+all.metric()+"_seconds", false
		for _, s := range r.Steps {
			times := streamTimes(s.Streams, false)
			at := slices.IndexFunc(times, func(t streamTime) bool { return t.member == all.member })
			if at < 0 {
				continue
			}
			if !begun {
				m.family(name, "summary", "seconds", all.help+" By step.")
				begun = true
			}
			m.quantiles(name, times[at].Distribution, "step", s.Name)
		}
	}
	if !slices.ContainsFunc(r.Steps, func(s report.StepReport) bool { return s.Goodput.Any() }) {
		return
	}
	m.family("loadctl_step_goals", "gauge", "", "Answers of each step that had goals, and those that met them all.")
	for _, s := range r.Steps {
		m.sample("loadctl_step_goals", float64(s.Goodput.Judged), "step", s.Name, "term", "judged")
		m.sample("loadctl_step_goals", float64(s.Goodput.Good), "step", s.Name, "term", "met")
	}
}
