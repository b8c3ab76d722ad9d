// Package outage decides which failures of a call that is made again and again are worth a line in the log.
//
//	if seen.Failed(err) {
//		log.Warn("nothing published; trying again", "err", err)
//	}
//	…
//	if seen.Over() {
//		log.Info("publishing again")
//	}
//
// Of a series of failures the first is told, and each that is of another kind than those before: a server that was away and is full now, or wants a
// password. Two kinds that alternate are told once each, so no series floods a log.
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

// mostKinds bounds what is remembered of a series, and so what is told of it.
const mostKinds = 16

// Series is what was told of a series of failures. The zero value is none. It is for one goroutine.
type Series struct{ kinds map[string]bool }

// Failed takes in a failure, and reports whether to tell of it.
func (s *Series) Failed(err error) (tell bool) {
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

// Over takes in a success, and reports whether it ends a series of failures.
func (s *Series) Over() (ends bool) {
	ends = len(s.kinds) > 0
	s.kinds = nil
	return ends
}

// kind is what failures have in common that the same thing has caused: the first word of what Redis answers, such as OOM, or what the system says of
// the connection.
func kind(err error) string {
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
