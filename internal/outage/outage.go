// Package outage decides which failures of a repeated call are worth a line in the log.
//
//	if seen.Failed(err) {
//		log.Warn("nothing published; trying again", "err", err)
//	}
//	…
//	if seen.Over() {
//		log.Info("publishing again")
//	}
//
// Of a series of failures it reports the first, and each of a kind not seen before: a server that was away and is now
// full, or wants a password. Of two kinds that alternate each is reported once, so no series floods a log.
package outage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9"
)

// mostKinds bounds the kinds remembered of a series, and so the number of lines about it.
const mostKinds = 16

// Kinder is an error that knows what failures with the same cause have in common.
type Kinder interface {
	error
	Kind() string
}

// Series remembers which failures of a series were reported. The zero value is ready. It is for one goroutine.
type Series struct{ kinds map[string]bool }

// Failed records a failure, and reports whether to report it.
func (s *Series) Failed(err error) (report bool) {
	k := kind(err)
	if s.kinds[k] || len(s.kinds) >= mostKinds {
		return false
	}
	if s.kinds == nil {
		s.kinds = map[string]bool{}
	}
	s.kinds[k] = true
	return true
}

// Over records a success, and reports whether it ends a series of failures.
func (s *Series) Over() (ends bool) {
	ends = len(s.kinds) > 0
	s.kinds = nil
	return ends
}

// kind returns what failures with the same cause have in common: the first word of a Redis error, such as OOM, or the
// operating system's error about the connection.
func kind(err error) string {
	if known, is := errors.AsType[Kinder](err); is {
		return known.Kind()
	}
	if answer, refused := errors.AsType[redis.Error](err); refused {
		word, _, _ := strings.Cut(answer.Error(), " ")
		return word
	}
	if errno, is := errors.AsType[syscall.Errno](err); is {
		return errno.Error()
	}
	if slow, is := errors.AsType[net.Error](err); is && slow.Timeout() || errors.Is(err, context.DeadlineExceeded) {
		return "timeout"
	}
	if errors.Is(err, io.EOF) {
		return "EOF"
	}
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return fmt.Sprintf("%T", err)
		}
		err = inner
	}
}
