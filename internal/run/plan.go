package run

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/loadctl/loadctl/pacer"
)

// plan is the schedule of a spec, as the scripts take it.
type plan struct {
	pieces []pacer.Piece
	loop   bool
	span   time.Duration // 0 = without an end
	left   int64         // requests; −1 = no limit
	min    int64         // workers to wait for
}

func (s Spec) plan() (plan, error) {
	p, err := s.profile()
	if err != nil {
		return plan{}, err
	}
	pieces, err := p.Pieces()
	if err != nil {
		return plan{}, err
	}
	b := plan{pieces: pieces, loop: p.Loop, span: p.Length(), left: -1, min: s.MinWorkers}
	if p.Loop {
		b.span = s.Duration
	} else if s.Duration > 0 && (b.span == 0 || s.Duration < b.span) {
		b.span = s.Duration
	}
	if s.Requests > 0 {
		b.left = s.Requests
	}
	return b, nil
}

// text returns the spec as it is stored.
func (s Spec) text() (string, error) {
	s.Version = specVersion
	text, err := json.Marshal(s)
	if err != nil {
		return "", fmt.Errorf("write spec: %w", err)
	}
	return string(text), nil
}
