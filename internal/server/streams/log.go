package streams

import (
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/units"
)

// A Log knows when answers and their events were written. Its methods are safe for concurrent use.
type Log struct {
	mu                 sync.Mutex // guards what follows
	file               io.Writer  // nil = none
	err                error      // the first one of file
	answers, cut       int64
	events             int64
	first, gap, stream record.Histogram
}

// NewLog returns a log that writes a line of JSON for each answer to file, unless it is nil.
func NewLog(file io.Writer) *Log { return &Log{file: file} }

// Err returns why the file lacks lines; nil if it has all.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// An answer is one that is being written. It belongs to one goroutine.
type answer struct {
	log           *Log
	path          string
	arrived, last time.Time
	times         []int64 // of the events, in ns since 1970; only for a file
	events        int64
}

func (l *Log) begin(path string, arrived time.Time) *answer {
	return &answer{log: l, path: path, arrived: arrived}
}

// event notes an event that was written.
func (a *answer) event(at time.Time) {
	l := a.log
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.events++; a.events == 0 {
		l.first.Record(bounded(at.Sub(a.arrived)))
	} else {
		l.gap.Record(bounded(at.Sub(a.last)))
	}
	a.events++
	if a.last = at; l.file != nil {
		// From the clock of the arrival: a step of the wall clock between two events is no gap.
		a.times = append(a.times, a.arrived.UnixNano()+int64(at.Sub(a.arrived)))
	}
}

// bounded returns a time that a histogram takes: more than an hour counts as an hour.
func bounded(d time.Duration) int64 { return min(int64(d), record.HighestNS) }

// end notes the end of an answer: whether it is whole, or client or server went away before.
func (a *answer) end(whole bool) {
	l := a.log
	var line []byte
	if l.file != nil {
		line = a.line(whole)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !whole {
		l.cut++
	} else if l.answers++; a.events > 0 {
		l.stream.Record(bounded(a.last.Sub(a.arrived)))
	}
	if line != nil && l.err == nil {
		_, l.err = l.file.Write(line)
	}
}

// line returns the line of the answer.
func (a *answer) line(whole bool) []byte {
	b := fmt.Appendf(nil, `{"path":%s,"arrival_ns":%d,"events_ns":[`, quote(a.path), a.arrived.UnixNano())
	for i, at := range a.times {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, at, 10)
	}
	return fmt.Appendf(b, "],\"whole\":%t}\n", whole)
}

// A Summary describes streams. Its times are those of the server; more than an hour counts as an hour.
type Summary struct {
	Answers    int64               `json:"answers"` // written to their end
	Cut        int64               `json:"cut"`     // ended before, by the client or the end of the server
	Events     int64               `json:"events"`
	FirstEvent record.Distribution `json:"first_event_ns"` // from the arrival of a request to its first event
	EventGap   record.Distribution `json:"event_gap_ns"`   // from each event to the next one of the answer
	Stream     record.Distribution `json:"stream_ns"`      // from the arrival to the last event, of whole answers
}

// Summary returns what was written so far.
func (l *Log) Summary() *Summary {
	l.mu.Lock()
	defer l.mu.Unlock()
	return &Summary{
		Answers: l.answers, Cut: l.cut, Events: l.events,
		FirstEvent: l.first.Distribution(1), EventGap: l.gap.Distribution(1), Stream: l.stream.Distribution(1),
	}
}

// WriteCounts writes a line for people. Its cells are divided by a tab.
func (s *Summary) WriteCounts(w io.Writer) {
	fmt.Fprintf(w, "streams\tanswers %d, cut %d, events %d\n", s.Answers, s.Cut, s.Events)
}

// WriteTimes writes a table for people. Its cells are divided by tabs.
func (s *Summary) WriteTimes(w io.Writer) {
	fmt.Fprintln(w, "\nSTREAMS\tP50\tP90\tP99\tMAX")
	for _, row := range []struct {
		name string
		of   record.Distribution
	}{{"first_event", s.FirstEvent}, {"event_gap", s.EventGap}, {"stream", s.Stream}} {
		fmt.Fprint(w, row.name)
		for _, ns := range []int64{row.of.P50, row.of.P90, row.of.P99, row.of.Max} {
			if row.of == (record.Distribution{}) {
				fmt.Fprint(w, "\t-")
				continue
			}
			fmt.Fprint(w, "\t", units.Duration(ns))
		}
		fmt.Fprintln(w)
	}
}
