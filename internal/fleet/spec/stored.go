package spec

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/loadctl/loadctl/pacer/limit"
)

// The errors about what is stored of a run.
var (
	ErrBroken = errors.New("its state in Redis is damaged")
	ErrNewer  = errors.New("its state in Redis is of a newer version")
	ErrOlder  = errors.New("its state in Redis is of an older version")
)

// Broken returns an error about a run with damaged state. It says how to remove the run.
func Broken(name, why string) error {
	return fmt.Errorf("run %s: %w: %s; loadctl rm %s removes what is there", name, ErrBroken, why, name)
}

// Encode returns the spec as it is stored.
func (s Spec) Encode() (string, error) {
	s.Version = Version
	text, err := json.Marshal(s)
	if err != nil {
		return "", fmt.Errorf("write spec: %w", err)
	}
	return string(text), nil
}

// strict refuses a spec that asks for more than this program knows. To pass over a part of it would be another run.
func strict(text string) error {
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(new(Spec))
}

// CheckKnown returns ErrNewer if this program would refuse to create the run, because a newer one has created it.
// Workers check it before they take part. A reader needs less of a spec.
func (s Spec) CheckKnown(name string) error {
	if err := s.Validate(); err != nil {
		return fmt.Errorf("run %s: %w, and this program does not know what it asks for (%w); use a newer loadworker", name, ErrNewer, err)
	}
	return nil
}

// Parse reads a stored spec. The version comes first, as the rest of a newer spec is unknown.
func Parse(name, text string) (Spec, error) {
	var s Spec
	var v struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal([]byte(text), &v); err != nil || v.Version < 1 {
		return s, Broken(name, "its spec was not written by loadctl")
	}
	if v.Version < Version {
		return s, fmt.Errorf("run %s: %w, %d, and this program needs %d; end it with the loadctl that created it, or loadctl rm --force %s", name, ErrOlder, v.Version, Version, name)
	}
	if v.Version > Version {
		return s, fmt.Errorf("run %s: %w, %d, and this program needs %d; use a newer loadctl and loadworker", name, ErrNewer, v.Version, Version)
	}
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return s, Broken(name, "its spec was not written by loadctl")
	}
	if err := strict(text); err != nil {
		return s, fmt.Errorf("run %s: %w, with the %.80s; use a newer loadctl and loadworker", name, ErrNewer, strings.TrimPrefix(err.Error(), "json: "))
	}
	if s.HasLimiter() && !slices.Contains(limit.Names(), s.Limiter) {
		return s, fmt.Errorf("run %s: %w, with a limiter %.40q that this program does not know; use a newer loadctl and loadworker", name, ErrNewer, s.Limiter)
	}
	if _, err := s.Conditions(); err != nil {
		return s, fmt.Errorf("run %s: %w, with a %w that this program does not know; use a newer loadctl and loadworker", name, ErrNewer, err)
	}
	return s, nil
}
