package outage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
)

type answer string

func (a answer) Error() string { return string(a) }
func (answer) RedisError()     {}

// status is an error that knows its kind.
type status string

func (s status) Error() string { return "a refusal" }
func (s status) Kind() string  { return string(s) }

// TestSeries: each kind is reported once, until the series is over.
func TestSeries(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	var s Series
	for i, step := range []struct {
		err    error // nil = a success
		report bool
	}{
		{nil, false},
		{refused, true},
		{fmt.Errorf("publish: %w", refused), false},
		{context.DeadlineExceeded, true},
		{&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, false},
		{refused, false},
		{answer("OOM command not allowed when used memory > 'maxmemory'."), true},
		{answer("OOM another text"), false},
		{answer("NOAUTH Authentication required."), true},
		{io.EOF, true},
		{errors.New("a"), true},
		{errors.New("b"), false},
		{status("401"), true},
		{fmt.Errorf("renew: %w", status("503")), true},
		{status("401"), false},
		{nil, true},
		{nil, false},
		{refused, true},
	} {
		reported := false
		if step.err == nil {
			reported = s.Over()
		} else {
			reported = s.Failed(step.err)
		}
		if reported != step.report {
			t.Errorf("step %d, %v: reported %v", i, step.err, reported)
		}
	}
	reported := 0
	for i := range 1000 {
		if s.Failed(answer(fmt.Sprintf("WORD%d", i))) {
			reported++
		}
	}
	if reported >= mostKinds {
		t.Errorf("%d were reported", reported)
	}
}
