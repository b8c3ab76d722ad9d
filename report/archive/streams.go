package archive

import (
	"fmt"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
)

// documentStreams is what an archive has of answers in pieces.
type documentStreams struct {
	All   record.Streams      `json:"all"`
	Steps documentStepStreams `json:"steps,omitempty"`
}

// streamsOf returns what is written.
func streamsOf(h *report.Histograms) documentStreams {
	return documentStreams{h.Streams, h.StepStreams}
}

// IsZero reports whether there is nothing to write. Without an answer in pieces no step has one.
func (d documentStreams) IsZero() bool { return d.All.IsZero() }

// into adds what was read to histograms.
func (d documentStreams) into(h *report.Histograms) error {
	if err := d.All.Normalize(); err != nil {
		return err
	}
	for name, s := range d.Steps {
		if s == nil {
			return fmt.Errorf("the streams of step %.40q are empty", name)
		}
		if err := s.Normalize(); err != nil {
			return err
		}
	}
	h.Streams, h.StepStreams = d.All, d.Steps
	return nil
}

// documentStepStreams counts histograms before the first one is unpacked, as documentSteps does.
type documentStepStreams map[string]*record.Streams

// UnmarshalJSON implements json.Unmarshaler.
func (s *documentStepStreams) UnmarshalJSON(text []byte) error {
	return unmarshalFew(text, (*map[string]*record.Streams)(s), "steps", record.MaxSteps+1)
}

// checkStreams refuses histograms of answers in pieces of which the report has other counts.
func checkStreams(r *report.Report) error {
	h := r.Histograms
	if h.Streams.Answers != r.Streams.Answers || h.Streams.Events != r.Streams.Events {
		return fmt.Errorf("the histograms of %d streams do not fit", r.Streams.Answers)
	}
	steps := map[string]report.Streams{}
	for _, s := range r.Steps {
		steps[s.Name] = s.Streams
	}
	for name, s := range h.StepStreams {
		if of, known := steps[name]; !known || s.Answers != of.Answers || s.Events != of.Events {
			return fmt.Errorf("the streams of step %.40q do not fit", name)
		}
	}
	return nil
}
