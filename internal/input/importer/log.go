package importer

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loadctl/loadctl/internal/input/draft"
	"github.com/loadctl/loadctl/pacer/accesslog"
	"github.com/loadctl/loadctl/report/units"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/wire"
)

// Bounds of what is kept of a log.
const (
	mostFlows    = 30
	mostPatterns = 20_000 // later ones are counted together
	longestLine  = 64 << 10
)

// An accessLog is what is known of a log so far.
type accessLog struct {
	Options
	format   accesslog.Format
	patterns map[string]*pattern
	order    int   // of the next pattern
	lines    int64 // with a time
	unusable int64 // of them, those without a request
	beyond   int64 // of them, those of patterns after the first mostPatterns
	first    int64 // Unix seconds
	last     int64
}

// log reads an access log: a mix of its most frequent patterns.
func (o Options) log(in *bufio.Reader) (*draft.File, error) {
	a := &accessLog{Options: o, patterns: map[string]*pattern{}}
	if err := a.read(in); err != nil {
		return nil, err
	}
	all := make([]*pattern, 0, len(a.patterns))
	for _, p := range a.patterns {
		all = append(all, p)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf(`%s: has no usable request; give lines with such as "GET /path HTTP/1.1"`, o.Name)
	}
	slices.SortFunc(all, func(x, y *pattern) int {
		if x.count != y.count {
			return int(min(1, max(-1, y.count-x.count)))
		}
		return x.order - y.order
	})
	chosen := all[:min(mostFlows, len(all))]
	f := &draft.File{Mixed: true, Notes: a.notes(chosen, len(all)-len(chosen))}
	weights := weigh(chosen)
	var unique draft.Names
	for i, p := range chosen {
		r := draft.Request{Where: o.Name}
		r.Method, r.URL = p.method, strings.TrimRight(o.Base, "/")+p.example()
		s, err := f.Add(r)
		if err != nil {
			return nil, err
		}
		s.URL = strings.TrimRight(o.Base, "/") + p.path()
		s.Name = unique.Of(draft.StepName(p.method, "http://a"+p.shown()))
		f.Flows = append(f.Flows, draft.Flow{Name: s.Name, Weight: weights[i], Steps: []draft.Step{s}})
	}
	f.From = strings.TrimRight(o.Base, "/")
	f.Begin(o.Base)
	return f, nil
}

// read reads all lines.
func (a *accessLog) read(in *bufio.Reader) error {
	head, err := in.Peek(in.Size())
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: %w", a.Name, err)
	}
	format, other := accesslog.Of(strings.TrimLeft(string(head), "\r\n"))
	if format == nil {
		return fmt.Errorf("%s: %w", a.Name, accesslog.Unread(other))
	}
	a.format = *format
	parse := a.format.Open()
	limited := &io.LimitedReader{R: in, N: Most(Log) + 1}
	lines := bufio.NewScanner(limited)
	lines.Buffer(nil, longestLine)
	number := 0
	for lines.Scan() {
		number++
		line := strings.TrimPrefix(lines.Text(), "\ufeff")
		if strings.TrimSpace(line) == "" {
			continue
		}
		r, ok := parse(line)
		switch {
		case !ok:
			return fmt.Errorf("%s:%d: the line %s; remove it", a.Name, number, a.format.Wrong())
		case !r.Directive:
			a.count(r)
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return fmt.Errorf("%s:%d: the line has more than %d bytes; give an access log", a.Name, number+1, longestLine)
	case err != nil:
		return fmt.Errorf("%s: %w", a.Name, err)
	case limited.N == 0:
		return fmt.Errorf("%s: is larger than %d MiB; import a part of it, as with tail -n 1000000", a.Name, Most(Log)>>20)
	}
	return nil
}

// count counts a line.
func (a *accessLog) count(r accesslog.Record) {
	a.lines++
	switch {
	case r.Timed && a.first == 0:
		a.first, a.last = r.At, r.At
	case r.Timed:
		a.first, a.last = min(a.first, r.At), max(a.last, r.At)
	}
	if !r.Usable {
		a.unusable++
		return
	}
	p := newPattern(r.Method, r.Target)
	known := a.patterns[p.key()]
	switch {
	case known != nil:
		known.add(p)
	case len(a.patterns) == mostPatterns:
		a.beyond++
	case !a.valid(p):
		a.unusable++
	default:
		p.order = a.order
		a.order++
		a.patterns[p.key()] = p
	}
}

// valid reports whether a request can be sent again.
func (a *accessLog) valid(p *pattern) bool {
	s := targets.Step{Name: "a", Method: p.method, URL: draft.Literal(strings.TrimRight(a.Base, "/") + p.example())}
	return p.method != http.MethodConnect && wire.CheckStep(targets.Spec{}, s) == nil
}

// notes says what the log has, and what of it is not in the mix.
func (a *accessLog) notes(chosen []*pattern, others int) []string {
	var used int64
	for _, p := range chosen {
		used += p.count
	}
	share := func(n int64) string { return units.Percent(float64(n)/float64(a.lines)) + " %" }
	at := func(t int64) string { return time.Unix(t, 0).UTC().Format("2006-01-02 15:04:05") }
	seconds := a.last - a.first + 1
	zone := " UTC"
	if a.format.Local {
		zone = " (local time)"
	}
	notes := []string{
		fmt.Sprintf("Imported from %s: %s from %s to %s%s, %.3g/s on average.", a.shown(), draft.Plural(int(a.lines), "request", "requests"), at(a.first), at(a.last), zone, float64(a.lines)/float64(seconds)),
		fmt.Sprintf("In the mix: %s with %s of the requests.", draft.Plural(len(chosen), "pattern", "patterns"), share(used)),
	}
	if rest := a.lines - used - a.unusable; rest > 0 {
		more := ""
		if a.beyond > 0 {
			more = " or more"
		}
		notes = append(notes, fmt.Sprintf("Left out: %s%s that are less frequent, with %s of the requests.", draft.Plural(others, "pattern", "patterns"), more, share(rest)))
	}
	if a.unusable > 0 {
		notes = append(notes, fmt.Sprintf("Left out: %s without a request that can be sent, %s.", draft.Plural(int(a.unusable), "line", "lines"), share(a.unusable)))
	}
	return append(notes,
		"A log has no bodies and no headers: add those that the service needs.",
		"Numbers in paths are random ones of the range that the log has. Of other ids there is one example.",
		a.rate(seconds))
}

// rate says how to send at the rate of the log.
func (a *accessLog) rate(seconds int64) string {
	every := ""
	const mostPieces = 10_000
	if seconds > mostPieces {
		every = ",every=" + strconv.FormatInt((seconds-1)/mostPieces+1, 10) + "s"
	}
	return "To send at the rate of the log: --profile replay:" + a.shown() + every
}

// weigh returns the weights: the counts, or less where they are too large.
func weigh(all []*pattern) (weights []int64) {
	const mostSum = 100_000 - mostFlows // rounding up adds one each
	var sum int64
	for _, p := range all {
		sum += p.count
	}
	factor := min(1, targets.MaxWeight/float64(all[0].count), mostSum/float64(sum))
	for _, p := range all {
		weights = append(weights, max(1, int64(float64(p.count)*factor)))
	}
	return weights
}
