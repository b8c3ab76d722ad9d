package ui

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/results"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/report/samples"
)

// Bounds of an answer with samples, and how long those of a run are kept.
const (
	mostSamples      = 200
	mostSampleBytes  = 2 << 20 // of their JSON
	keptSamples      = 2 * time.Second
	mostSlowest      = 1000
	mostSampleFilter = 1000 // bytes of a class or the name of a step
)

// sampled is an answer with samples.
type sampled struct {
	Total   int               `json:"total"`   // samples that were asked for
	Samples []json.RawMessage `json:"samples"` // as many of them as an answer may have
}

// A wanted says which samples an answer has.
type wanted struct {
	class, step string // "" = each
	slowest     int    // so many of the slowest; 0 = all
	least       int64  // ns of latency
}

// wantedOf reads what a request asks for.
func wantedOf(r *http.Request) (q wanted, err error) {
	values := r.URL.Query()
	q.class, q.step = values.Get("class"), values.Get("step")
	if len(q.class) > mostSampleFilter || len(q.step) > mostSampleFilter {
		return q, bad(fmt.Errorf("class and step have at most %d bytes", mostSampleFilter))
	}
	q.slowest, err = number(r, "slowest", 0)
	if err != nil || q.slowest > mostSlowest {
		return q, bad(fmt.Errorf("slowest is a number from 0 to %d", mostSlowest))
	}
	if text := values.Get("least_ns"); text != "" {
		if q.least, err = strconv.ParseInt(text, 10, 64); err != nil || q.least < 0 {
			return q, bad(fmt.Errorf("least_ns is a number of nanoseconds"))
		}
	}
	return q, nil
}

// of returns those of all samples that are wanted, by the time when they were due. Those that have to be slow begin with
// the slowest.
func (q wanted) of(all []samples.Sample) []samples.Sample {
	var found []samples.Sample
	for _, s := range all {
		if (q.class == "" || s.Class == q.class) && (q.step == "" || s.Step == q.step) && s.Latency >= q.least {
			found = append(found, s)
		}
	}
	if q.slowest > 0 || q.least > 0 {
		slices.SortStableFunc(found, func(a, b samples.Sample) int { return cmp.Compare(b.Latency, a.Latency) })
	}
	if q.slowest > 0 {
		found = found[:min(q.slowest, len(found))]
	}
	return found
}

// answered returns the answer of what was found.
func answered(found []samples.Sample) (sampled, error) {
	a := sampled{Total: len(found), Samples: []json.RawMessage{}}
	room := mostSampleBytes
	for _, s := range found[:min(len(found), mostSamples)] {
		text, err := encode(s)
		if err != nil {
			return a, err
		}
		if room -= len(text); room < 0 {
			break
		}
		a.Samples = append(a.Samples, text)
	}
	return a, nil
}

// samples answers with requests of a run that were kept as evidence.
func (s *Server) samples(w http.ResponseWriter, r *http.Request) {
	s.evidence(w, r, func() ([]samples.Sample, error) {
		watcher, err := s.hub.watcher(r.Context(), r.PathValue("run"), s.hub.linger)
		if err != nil {
			return nil, err
		}
		set, err := watcher.samples.get(r.Context())
		return set.Samples, err
	})
}

// archivedSamples answers with those of an archive.
func (s *Server) archivedSamples(w http.ResponseWriter, r *http.Request) {
	s.evidence(w, r, func() ([]samples.Sample, error) {
		rep, err := s.archived(r.PathValue("name"))
		return rep.Samples, err
	})
}

// evidence answers with those samples that a request wants. read returns all there are.
func (s *Server) evidence(w http.ResponseWriter, r *http.Request, read func() ([]samples.Sample, error)) {
	q, err := wantedOf(r)
	if err != nil {
		fail(w, err)
		return
	}
	all, err := read()
	if err != nil {
		fail(w, err)
		return
	}
	a, err := answered(q.of(all))
	if err != nil {
		fail(w, err)
		return
	}
	answer(w, a)
}

// readSamples reads what the workers of a run kept.
func (w *watcher) readSamples(ctx context.Context) (samples.Set, error) {
	r, err := w.hub.open(ctx, w.name)
	if err != nil {
		return samples.Set{}, err
	}
	set, unread, err := results.Samples(ctx, r)
	if err == nil && unread != "" && len(set.Samples) == 0 { // else a note of the report says it
		err = fmt.Errorf("%w: %s", spec.ErrBroken, unread)
	}
	return set, err
}
