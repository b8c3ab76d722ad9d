package compare

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	ours "github.com/loadctl/loadctl/internal/output/page"
	"github.com/loadctl/loadctl/internal/output/printable"
	"github.com/loadctl/loadctl/report"
)

// written returns a comparison in a format.
func written(t *testing.T, c Comparison, name string) string {
	t.Helper()
	render, err := Formats().Renderer(name)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := render(&b, c); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return b.String()
}

// document is a comparison as programs read it from JSON.
type document struct {
	Sides   []side
	Results []struct {
		Other   string
		Figures []struct {
			Figure, Unit, Why string
			Base, Other       float64
			Difference        *float64
			Interval          *Interval
		}
		Notes []string
	}
	Conditions       []Condition
	Warnings, Failed []string
}

type side struct {
	Name    string
	Runs    []struct{ Run string }
	Latency map[string]int64 `json:"latency_ns"`
	Bound   *float64         `json:"percentiles_are_lower_bounds_above"`
	Errors  map[string]struct {
		Requests int64
		Share    float64
	}
}

// bounded adds ≥ to a figure if dropped requests would have made it larger.
func bounded(s side, figure, text string) string {
	var quantile float64
	if n, err := fmt.Sscanf(figure, "latency:p(%g)", &quantile); s.Bound != nil && (figure == "latency:avg" || err == nil && n == 1 && quantile/100 > *s.Bound) {
		return "≥" + text
	}
	return text
}

// parsed reads the document.
func parsed(t *testing.T, c Comparison) (doc document) {
	t.Helper()
	if err := json.Unmarshal([]byte(written(t, c, "json")), &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

// htmlRows returns the cells of all table rows of a page.
func htmlRows(page string) [][]string {
	var all [][]string
	for _, row := range regexp.MustCompile(`(?s)<tr[^>]*>(.*?)</tr>`).FindAllStringSubmatch(page, -1) {
		var cells []string
		for _, cell := range regexp.MustCompile(`(?s)<t[hd][^>]*>(.*?)</t[hd]>`).FindAllStringSubmatch(row[1], -1) {
			cells = append(cells, html.UnescapeString(cell[1]))
		}
		all = append(all, cells)
	}
	return all
}

// shown fails unless these cells are a row of the page, of Markdown and, if text is not nil, of the text.
func shown(t *testing.T, c Comparison, cells, text []string) {
	t.Helper()
	if !slices.ContainsFunc(htmlRows(written(t, c, "html")), func(row []string) bool { return slices.Equal(row, cells) }) {
		t.Errorf("html has no row %q", cells)
	}
	if page := strings.NewReplacer("**", "", `\_`, "_").Replace(written(t, c, "markdown")); !strings.Contains(page, "| "+strings.Join(cells, " | ")+" |") {
		t.Errorf("markdown has no row %q:\n%s", cells, page)
	}
	plain := regexp.MustCompile(` +`).ReplaceAllString(written(t, c, "text"), " ")
	if text != nil && !strings.Contains(plain, "\n"+strings.Join(text, " ")) {
		t.Errorf("text has no line %q:\n%s", text, plain)
	}
}

// comparisons are shared by the tests of formats.
func comparisons() map[string]Comparison {
	rng := rand.New(rand.NewPCG(3, 3))
	a := virtual{seconds: 60, rate: 100, median: 10 * time.Millisecond, spread: 0.3, errors: 0.02}
	b := a
	b.median, b.errors = 25*time.Millisecond, 0.1
	bare, dropped, nothing := a.side(rng, "bare.json", 1, 0), b.side(rng, "dropped", 2, 1), Side{"nothing", []report.Report{report.Build(report.Input{Run: "x"})}}
	bare.Runs[0].Histograms = nil
	bound := 0.95
	dropped.Runs[1].LowerBoundsAbove = &bound
	base := a.side(rng, "base", 1, 0)
	slow := feed()
	slow.first = 150 * time.Millisecond
	return map[string]Comparison{
		"one":     New(base, b.side(rng, "other", 1, 1)),
		"three":   New(a.side(rng, "a1,a2,a3", 3, 0), b.side(rng, "b1,b2,b3", 3, 1)),
		"more":    New(base, b.side(rng, "b", 1, 1), bare, dropped),
		"nothing": New(base, nothing),
		"streams": New(feed().side(rng, "quick", 1, 0), slow.side(rng, "slow", 1, 1)),
		"none":    New(nothing, nothing),
	}
}

// TestNumbersAreEqual: each number of a comparison is the same in all formats, and in JSON it is that of the reports.
func TestNumbersAreEqual(t *testing.T) {
	units := map[string]Unit{"ns": Nanoseconds, "per_second": PerSecond, "share": Share}
	for name, c := range comparisons() {
		t.Run(name, func(t *testing.T) {
			doc := parsed(t, c)
			for _, r := range doc.Results {
				if want := len(figuresOf(c.sides...)); len(r.Figures) != want {
					t.Errorf("%d figures", len(r.Figures))
				}
				for _, f := range r.Figures {
					unit, change := units[f.Unit], math.NaN()
					if f.Difference != nil {
						change = *f.Difference
					}
					verdict := Row{Difference: f.Interval, Why: f.Why}.verdict()
					base, other := doc.Sides[0], doc.Sides[slices.IndexFunc(doc.Sides, func(s side) bool { return s.Name == r.Other })]
					cells := []string{f.Figure, bounded(base, f.Figure, unit.text(f.Base)), bounded(other, f.Figure, unit.text(f.Other)), percent(change), verdict}
					shown(t, c, cells, cells)
				}
			}
			for _, p := range percentiles() {
				cells := []string{p.name}
				for _, s := range doc.Sides {
					ns := s.Latency[strings.ReplaceAll(p.name, ".", "")]
					switch {
					case s.Latency["max"] == 0:
						cells = append(cells, "–")
					case s.Bound != nil && p.quantile > *s.Bound:
						cells = append(cells, "≥"+Nanoseconds.text(float64(ns)))
					default:
						cells = append(cells, Nanoseconds.text(float64(ns)))
					}
				}
				if name == "none" {
					shown(t, c, cells, nil)
					continue
				}
				shown(t, c, cells, cells[:3])
			}
			for class := range doc.Sides[0].Errors {
				cells, text := []string{class}, []string{class}
				for i, s := range doc.Sides {
					e := s.Errors[class]
					cells = append(cells, fmt.Sprintf("%d (%s)", e.Requests, Share.text(e.Share)))
					if i < 2 {
						text = append(text, fmt.Sprint(e.Requests), Share.text(e.Share))
					}
				}
				shown(t, c, cells, text)
			}
			asReported(t, c, doc)
		})
	}
}

// TestNotesAreShownOnce: what holds for all sides stands once, and what holds for one side stands with it.
func TestNotesAreShownOnce(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	v := virtual{seconds: 60, rate: 100, median: 10 * time.Millisecond}
	part := v.side(rng, "part", 1, 1)
	part.Runs[0].Complete = false
	c := New(v.side(rng, "base", 1, 0), part, v.side(rng, "whole", 1, 2))
	for _, format := range []string{"text", "markdown", "html"} {
		text := written(t, c, format)
		own, second, all := strings.Index(text, "part is not complete"), strings.LastIndex(text, "latency:avg"), strings.Index(text, "one run a side shows")
		if own < 0 || own > second || all < second || strings.Count(text, "one run a side shows") != 1 {
			t.Errorf("%s: the notes are at %d and %d, the figures of the second side at %d:\n%s", format, own, all, second, text)
		}
	}
}

// TestConditionsAreShown: each format has a line for each condition, and JSON has all details.
func TestConditionsAreShown(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	v := virtual{seconds: 60, rate: 100, median: 10 * time.Millisecond, spread: 0.3, drift: 0.2}
	slow := v
	slow.median = 25 * time.Millisecond
	c := New(v.side(rng, "base", 1, 0), v.side(rng, "same", 1, 1), slow.side(rng, "slow", 1, 2))
	var rules []Rule
	for _, text := range []string{"latency:p(50)>+5%", "latency:p(99.9)>+5%", "rate<-5%"} {
		rule, err := ParseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		rules = append(rules, rule)
	}
	c.Judge(rules)
	want := []string{ // what fails is the first
		"✗ slow: latency:p(50)>+5%: met, the difference is ", "? same: latency:p(99.9)>+5%: cannot tell, there is no interval: too few requests",
		"? slow: latency:p(99.9)>+5%: cannot tell, there is no interval: too few requests", "? same: latency:p(50)>+5%: cannot tell, the difference is ",
		"✓ same: rate<-5%: not met, the difference is ", "✓ slow: rate<-5%: not met, the difference is ",
	}
	all := parsed(t, c).Conditions
	if len(all) != len(want) || len(c.Failed) != 3 || len(c.Open()) != 1 {
		t.Fatalf("%+v, failed %q, open %q", all, c.Failed, c.Open())
	}
	for i, one := range all {
		line := one.line()
		if !slices.ContainsFunc(want, func(begin string) bool { return strings.HasPrefix(line, begin) }) || i > 0 && one.severity() > all[i-1].severity() {
			t.Errorf("condition %d is %s", i, line)
		}
		for format, shown := range map[string]string{
			"text": "\nfail-on     " + line + "\n", "markdown": "\n- " + printable.Markdown(line, maxMarkdownText) + "\n", "html": ">" + html.EscapeString(line) + "</li>",
		} {
			if text := written(t, c, format); strings.Count(html.UnescapeString(text), html.UnescapeString(shown)) != 1 {
				t.Errorf("%s has no line %q:\n%s", format, shown, text)
			}
		}
	}
}

// asReported compares a document with the reports of sides of one run.
func asReported(t *testing.T, c Comparison, doc document) {
	t.Helper()
	for i, s := range c.sides {
		if len(s.Runs) > 1 || i == 0 && len(doc.Results) == 0 {
			continue
		}
		r, got := s.Runs[0], map[string]float64{}
		for _, f := range doc.Results[max(0, i-1)].Figures {
			got[f.Figure] = f.Other
			if i == 0 {
				got[f.Figure] = f.Base
			}
		}
		for figure, want := range map[string]float64{
			"rate": r.Rate, "throughput": r.Throughput, "latency:avg": float64(r.Latency.Mean), "latency:p(50)": float64(r.Latency.P50),
			"latency:p(90)": float64(r.Latency.P90), "latency:p(99)": float64(r.Latency.P99), "latency:p(99.9)": float64(r.Latency.P999),
		} {
			if got[figure] != want {
				t.Errorf("%s: %s is %v, want %v", s.Name, figure, got[figure], want)
			}
		}
		l := doc.Sides[i].Latency
		if l["p95"] != r.Latency.P95 || l["p9999"] != r.Latency.P9999 || l["max"] != r.Latency.Max || len(l) != len(percentiles()) {
			t.Errorf("%s: %v, want %+v", s.Name, l, r.Latency)
		}
		sum := 0.0
		for class, e := range doc.Sides[i].Errors {
			sum += e.Share
			if e.Requests != r.Errors[class] {
				t.Errorf("%s: %s: %d, want %d", s.Name, class, e.Requests, r.Errors[class])
			}
		}
		if math.Abs(sum-got["errors:rate"]) > 1e-12 || len(doc.Sides[i].Errors) != len(r.Errors) {
			t.Errorf("%s: shares of errors are %v, want %v", s.Name, sum, got["errors:rate"])
		}
	}
}

// TestPageNeedsNothing: the page has the common style and its own, with their hash, and nothing else that a browser
// would run, fetch or refuse.
func TestPageNeedsNothing(t *testing.T) {
	for name, c := range comparisons() {
		page := written(t, c, "html")
		style := regexp.MustCompile(`(?s)<style>(.*?)</style>`).FindAllStringSubmatch(page, -1)
		policy := regexp.MustCompile(`<meta http-equiv="Content-Security-Policy" content="([^"]*)">`).FindStringSubmatch(page)
		if len(style) != 1 || policy == nil {
			t.Fatalf("%s: %d styles, policy %q", name, len(style), policy)
		}
		sum := sha256.Sum256([]byte(style[0][1]))
		want := "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'"
		if got := html.UnescapeString(policy[1]); got != want {
			t.Errorf("%s: the policy is %s, want %s", name, got, want)
		}
		for _, no := range []string{"<script", " style=", "javascript:", " src=", " href=", "url(", "@import", " on"} {
			if strings.Contains(regexp.MustCompile(`>[^<]*<`).ReplaceAllString(page, "><"), no) {
				t.Errorf("%s: the page has %q", name, no)
			}
		}
		if len(page) > 100_000 || !strings.HasPrefix(style[0][1], ours.Style()) || strings.Count(page, "<svg") != 2*len(timesOf(c.Sides)) {
			t.Errorf("%s: %d bytes", name, len(page))
		}
	}
}

// TestHostileTexts: untrusted texts stay text in every format, and a comment stays short.
func TestHostileTexts(t *testing.T) {
	evil := strings.Repeat("<script>alert(1)</script>\"'><b> `|]]> & \x1b[2J\u202e\\ \xff @all [x](http://y) **b** \n# EOF\n", 20)
	rng := rand.New(rand.NewPCG(1, 1))
	v := virtual{seconds: 20, rate: 50, median: time.Millisecond, spread: 0.1}
	base, others := v.side(rng, evil, 1, 0), []Side{}
	for i := range 12 {
		other := v.side(rng, fmt.Sprint(evil, i), 1, 1)
		other.Runs[0].Run, other.Runs[0].Limiter = evil, fmt.Sprint(evil, i)
		for j := range 100 {
			other.Runs[0].Errors[fmt.Sprint(evil, j)] = 1
		}
		others = append(others, other)
	}
	c := New(base, others...)
	for i := range 100 {
		c.Conditions = append(c.Conditions, Condition{Other: fmt.Sprint(i, evil), FailOn: "rate<-1%", Result: Undecided, Why: evil})
	}
	for _, name := range Formats().Names() {
		text := written(t, c, name)
		if printable.Line(strings.ReplaceAll(text, "\n", "")) != strings.ReplaceAll(text, "\n", "") {
			t.Errorf("%s has characters that steer", name)
		}
	}
	if page := written(t, c, "html"); strings.Contains(page, "<script") || strings.Contains(page, "<b>") {
		t.Error("the page has markup of others")
	}
	page := written(t, c, "markdown")
	if n := len([]rune(page)); n > 65_536 {
		t.Errorf("%d characters", n)
	}
	inCode := regexp.MustCompile("`[^`\n]*`")
	for line := range strings.Lines(page) {
		if rest := inCode.ReplaceAllString(strings.ReplaceAll(line, "\\`", ""), ""); strings.ContainsAny(rest, "<@") {
			t.Fatalf("Markdown has a line that is read: %.300s", rest)
		}
	}
}

// TestTextFits: the percentiles fit a terminal of 80 columns, with a mark for each side in each line.
func TestTextFits(t *testing.T) {
	for name, c := range comparisons() {
		_, plot, found := strings.Cut(written(t, c, "text"), "\nlatency  ")
		if found != (name != "none") {
			t.Errorf("%s: a plot: %v", name, found)
		}
		for line := range strings.Lines("latency  " + plot) {
			if line == "\n" || !found {
				break
			}
			marks := strings.Count(line, "○") + strings.Count(line, "●") + 2*strings.Count(line, "◉")
			want := 2
			if name == "nothing" && !strings.HasPrefix(line, "latency") {
				want = 1
			}
			if n := len([]rune(line)) - 1; n > 80 || marks != want {
				t.Errorf("%s: %d columns, %d marks: %s", name, n, marks, line)
			}
		}
	}
}

// TestRateOfPartSeconds: the last answers come after the end of a run, in a second of their own. That is no slow second.
func TestRateOfPartSeconds(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	v := virtual{seconds: 12, rate: 200, median: time.Millisecond, spread: 0.1}
	a, b := v.side(rng, "a", 1, 0), v.side(rng, "b", 1, 1)
	for _, s := range []Side{a, b} {
		r := &s.Runs[0]
		r.Series = append(r.Series, report.SeriesReport{T: 12, OK: 1})
		r.Series[11].OK--
	}
	c := Compare(a, b)
	for _, name := range []string{"rate", "throughput"} {
		if d := row(t, c, name).Difference; d == nil || d.Low > 0 || d.High < 0 || d.High-d.Low > 0.04 {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

// TestIntervalsAreNumbers: however wild a run is, JSON can say its intervals.
func TestIntervalsAreNumbers(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	v := virtual{seconds: 4, rate: 200, median: time.Millisecond, drift: 12}
	for range 10 {
		parsed(t, New(v.side(rng, "a", 1, 0), v.side(rng, "b", 1, 1)))
	}
}
