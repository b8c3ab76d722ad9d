package report

import (
	"bytes"
	"strings"
	"testing"
)

// loop is the input of a closed loop: a worker that is gone sent 5 requests, and another one, which may have been killed, 3.
func loop(final bool) Input {
	worker := func(id string, n int, final bool) WorkerInput {
		r := NewRecorder()
		for i := range n {
			r.Sent()
			r.PermitSent(1)
			r.Done(Sample{Due: 1000, Sent: 1000, Done: 1_000_000 * int64(i+2), Status: 200})
		}
		s := NewSnapshot(id, "1")
		s.Record(r)
		s.Final = final
		return WorkerInput{ID: id, State: "left", Gone: true, Total: s}
	}
	return Input{Run: "x", ClosedLoop: true, Workers: []WorkerInput{worker("a", 5, true), worker("b", 3, final)}}
}

// TestClosedLoop: nothing was asked for, all adds up, and the report says what its latencies are.
func TestClosedLoop(t *testing.T) {
	r := Build(loop(true))
	if !r.Complete || r.Asked != 0 || r.Audit.Sent != 8 || r.Lag != (Distribution{}) || r.Latency != r.ServiceTime || len(r.Notes) != 1 {
		t.Errorf("%+v", r)
	}
	var text, object bytes.Buffer
	if err := Text(&text, r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\nasked       max          as fast as it goes (closed loop)\n", "\nsent        8 ", "\naudit       sent 8 = completed 8\n", "\nlatency ",
		"\nnote        closed loop: each connection sent its next request when the last one was answered; " +
			"latencies leave out what users would have waited (coordinated omission). For latencies at a rate use --qps NUMBER\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is missing:\n%s", want, text.String())
		}
	}
	if s := text.String(); strings.Contains(s, "\nlag ") || strings.Contains(s, "\nservice time ") || strings.Contains(s, "permit") {
		t.Error(s)
	}
	if err := JSON(&object, r); err != nil || !strings.Contains(object.String(), "\"closed_loop\": true,\n") {
		t.Errorf("%s, %v", object.String(), err)
	}
}

// TestClosedLoopCutShort: no slot tells of what a killed worker sent last, so the report is not complete.
func TestClosedLoopCutShort(t *testing.T) {
	r := Build(loop(false))
	notes := strings.Join(r.Notes, "\n")
	if r.Complete || !strings.Contains(notes, "worker b ended without its last snapshot") || strings.Contains(notes, "worker a") {
		t.Errorf("complete %v, %s", r.Complete, notes)
	}
}
