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
	sum := s.sum(ordinal, -1)
	copy(id[:], sum[:])
	return id
}

// Span returns the span id of one request: step is its index in the workload, 0 without one. It is
//
//	the first 8 bytes of SHA-256(key "/" ordinal "/" step)
func (s Source) Span(ordinal uint64, step int) (id [8]byte) {
	sum := s.sum(ordinal, step)
	copy(id[:], sum[:])
	return id
}

// longest is how long a text can be that is hashed without memory of its own.
const longest = 192

// sum hashes the key, an ordinal, and a step that is not negative.
func (s Source) sum(ordinal uint64, step int) [sha256.Size]byte {
	var room [longest]byte
	b := strconv.AppendUint(append(append(room[:0], s.key...), '/'), ordinal, 10)
	if step >= 0 {
		b = strconv.AppendInt(append(b, '/'), int64(step), 10)
	}
	return sha256.Sum256(b)
}

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
	b = append(s.AppendID(append(b, "00-"...), ordinal), '-')
	b = s.AppendSpan(b, ordinal, step)
	if share.Sampled(ordinal) {
		return append(b, "-01"...)
	}
	return append(b, "-00"...)
}
