package trace

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
)

// Header is the name of the header that carries the trace context.
const Header = "traceparent"

// A Source makes the ids of the requests of a run. It never changes. The zero value has an empty key.
type Source struct{ key string }

// New returns the Source of a key.
func New(key string) Source { return Source{key} }

// Key returns the key of a run: its uid. In a closed loop each worker counts its own requests, so there it is also of a
// worker; else worker is "".
func Key(uid, worker string) string {
	if worker == "" {
		return uid
	}
	return uid + "/" + worker
}

// ID returns the trace id of all requests that a slot has started. It is
//
//	the first 16 bytes of SHA-256(key "/" ordinal)
//
// with the ordinal in decimal digits. It is never all zero, which would be invalid: nobody will see the one in 2^128.
func (s Source) ID(ordinal uint64) (id [16]byte) {
	var room [longest]byte
	sum := sha256.Sum256(s.text(room[:0], ordinal))
	copy(id[:], sum[:])
	return id
}

// Span returns the span id of one request: step is its index in the workload, 0 without one. It is
//
//	the first 8 bytes of SHA-256(key "/" ordinal "/" step)
func (s Source) Span(ordinal uint64, step int) (id [8]byte) {
	var room [longest]byte
	sum := sha256.Sum256(appendStep(s.text(room[:0], ordinal), step))
	copy(id[:], sum[:])
	return id
}

// longest is how long a text can be that is hashed without memory of its own.
const longest = 128

// text appends what the trace id is the hash of.
func (s Source) text(b []byte, ordinal uint64) []byte {
	return strconv.AppendUint(append(append(b, s.key...), '/'), ordinal, 10)
}

// appendStep makes of that what the span id is the hash of.
func appendStep(b []byte, step int) []byte { return strconv.AppendInt(append(b, '/'), int64(step), 10) }

// Text returns the trace id as it is written.
func (s Source) Text(ordinal uint64) string {
	id := s.ID(ordinal)
	return hex.EncodeToString(id[:])
}

// AppendID appends the trace id as it is written.
func (s Source) AppendID(b []byte, ordinal uint64) []byte {
	id := s.ID(ordinal)
	return hex.AppendEncode(b, id[:])
}

// AppendSpan appends the span id as it is written.
func (s Source) AppendSpan(b []byte, ordinal uint64, step int) []byte {
	id := s.Span(ordinal, step)
	return hex.AppendEncode(b, id[:])
}

// Append appends the value of the header: version, trace id, span id and flags. Of the flags only sampled is used.
func (s Source) Append(b []byte, ordinal uint64, step int, share Share) []byte {
	var room [longest]byte
	text := s.text(room[:0], ordinal)
	id := sha256.Sum256(text)
	span := sha256.Sum256(appendStep(text, step))
	b = hex.AppendEncode(append(b, "00-"...), id[:16])
	b = hex.AppendEncode(append(b, '-'), span[:8])
	if share.Sampled(ordinal) {
		return append(b, "-01"...)
	}
	return append(b, "-00"...)
}
