package record

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
)

const (
	snapshotVersion = 1

	// maxSnapshotBytes bounds an encoded snapshot. A usual one has some kB; one with every bucket of 101 histograms in
	// use has less than 32 MiB.
	maxSnapshotBytes = 32 << 20
)

// snapshotFields is a Snapshot without its methods, so that encoding/json uses the fields.
type snapshotFields Snapshot

// versioned is the envelope of an encoded snapshot: its fields beside "v".
type versioned struct {
	V int `json:"v"`
	*snapshotFields
}

// MarshalBinary encodes s as a JSON object whose member "v" is the version; histograms are in HdrHistogram's V2
// compressed format in base64, and a Compact in its own.
func (s *Snapshot) MarshalBinary() ([]byte, error) {
	fields := snapshotFields(*s)
	if s.stepsFirstByte().Count() == s.FirstByte.Count() { // what steps have is in FirstByte too, so they are equal
		fields.FirstByte = nil
	}
	data, err := json.Marshal(versioned{V: snapshotVersion, snapshotFields: &fields})
	if err != nil {
		return nil, fmt.Errorf("encode snapshot of %s: %w", s.Worker, err)
	}
	return data, nil
}

// UnmarshalBinary replaces s by what MarshalBinary wrote. The data may come from an untrusted source. After an error s
// is unchanged. An unknown version is an error that says so.
func (s *Snapshot) UnmarshalBinary(data []byte) error {
	if len(data) > maxSnapshotBytes {
		return fmt.Errorf("decode snapshot: %d bytes, more than %d", len(data), maxSnapshotBytes)
	}
	// The version is checked first and alone: a newer one may give other members other types, and the error should name
	// the true cause.
	if !bytes.HasPrefix(data, []byte(fmt.Sprintf(`{"v":%d,`, snapshotVersion))) {
		var envelope struct {
			V int `json:"v"`
		}
		if err := json.Unmarshal(data, &envelope); err != nil {
			return fmt.Errorf("decode snapshot: %w", err)
		}
		if err := checkVersion("snapshot", envelope.V, snapshotVersion); err != nil {
			return err
		}
	}
	decoded := NewSnapshot("", "")
	decoded.FirstByte = nil // unless the data says otherwise, it is the sum over the steps
	if err := json.Unmarshal(data, (*snapshotFields)(decoded)); err != nil {
		return fmt.Errorf("decode snapshot: %w", err)
	}
	if err := decoded.normalize(); err != nil {
		return fmt.Errorf("decode snapshot: %w", err)
	}
	*s = *decoded
	return nil
}

// checkVersion compares the version of encoded data with the one we write.
func checkVersion(what string, got, known int) error {
	switch {
	case got > known:
		return fmt.Errorf("decode %s: version %d is newer than version %d known here; update this program", what, got, known)
	case got != known:
		return fmt.Errorf("decode %s: no valid version (%d)", what, got)
	}
	return nil
}

// normalize makes decoded fields safe to use: nothing is nil, and nothing exceeds the bounds that a Recorder keeps.
func (s *Snapshot) normalize() error {
	if err := cmp.Or(s.Counts.Check(), s.Self.check(), checkCount("most_in_flight", s.MostInFlight), checkCount("processes", s.Processes), s.checkOutages(), s.Connections.normalize(), s.Streams.Normalize()); err != nil {
		return err
	}
	for _, h := range []**Histogram{&s.Latency, &s.Service, &s.Lag} {
		if *h == nil {
			*h = NewHistogram()
		}
	}
	if s.Status == nil {
		s.Status = make(map[int]int64)
	}
	for code, n := range s.Status {
		if code < OtherStatus || code >= statusCodes {
			return fmt.Errorf("status code %d is out of range", code)
		}
		if err := checkCount("status", n); err != nil {
			return err
		}
	}
	if len(s.Steps) > MaxSteps+1 {
		return fmt.Errorf("%d steps, more than %d", len(s.Steps), MaxSteps+1)
	}
	for name, step := range s.Steps {
		if err := step.check(name); err != nil {
			return err
		}
	}
	if s.FirstByte == nil {
		s.FirstByte = s.stepsFirstByte()
	}
	return s.normalizeErrors()
}

// stepsFirstByte returns the sum over all steps.
func (s *Snapshot) stepsFirstByte() *Compact {
	sum := NewCompact()
	for _, step := range s.Steps {
		sum.Merge(step.FirstByte)
	}
	return sum
}

// normalizeErrors does the same for the error classes.
func (s *Snapshot) normalizeErrors() error {
	if s.Errors == nil {
		s.Errors = make(map[string]*ErrorClass)
	}
	if len(s.Errors) > MaxClasses+1 {
		return fmt.Errorf("%d error classes, more than %d", len(s.Errors), MaxClasses+1)
	}
	for name, c := range s.Errors {
		if len(name) > maxClassBytes {
			return fmt.Errorf("error class of %d bytes, more than %d", len(name), maxClassBytes)
		}
		if c == nil {
			return fmt.Errorf("error class %q is empty", name)
		}
		if err := checkCount("errors", c.Count); err != nil {
			return err
		}
		if c.Latency == nil {
			c.Latency = NewHistogram()
		}
	}
	return nil
}

// Check refuses a counter outside 0…2^53.
func (c Counts) Check() error {
	for _, f := range []struct {
		name string
		n    int64
	}{
		{"sent", c.Sent}, {"followed", c.Followed}, {"followed_late", c.FollowedLate}, {"late_dropped", c.LateDropped},
		{"recalled", c.Recalled}, {"ungranted", c.Ungranted}, {"beyond", c.Beyond}, {"made_up", c.Deduplicated}, {"seen_late", c.SeenLate}, {"busy", c.Busy}, {"opening", c.Opening},
		{"no_room", c.NoRoom}, {"completed", c.Completed},
		{"failed", c.Failed}, {"bytes_in", c.BytesIn}, {"bytes_out", c.BytesOut}, {"messages_in", c.MessagesIn},
		{"judged", c.Judged}, {"good", c.Good},
		{"out_of_range", c.OutOfRange},
	} {
		if err := checkCount(f.name, f.n); err != nil {
			return err
		}
	}
	return nil
}

// checkCount refuses a decoded count outside 0…2^53.
func checkCount(name string, n int64) error {
	if n < 0 || n > MaxCount {
		return fmt.Errorf("count %s = %d is out of range", name, n)
	}
	return nil
}
