package ledger

import (
	"encoding/binary"
	"testing"
	"time"
)

// packed returns numbers as scripts store them.
func packed(numbers ...int64) string {
	var b []byte
	for _, x := range numbers {
		b = binary.LittleEndian.AppendUint64(b, uint64(x))
	}
	return string(b)
}

// TestWhatIsOverIsLeftOut asserts that rows that are over, and a quiet time that is over, are not shown: no call may have
// come since.
func TestWhatIsOverIsLeftOut(t *testing.T) {
	now := time.UnixMicro(1_700_000_000_000_000).UTC()
	for past, want := range map[int64]int{-1: 1, 0: 1, 1: 0} {
		s := State{Now: now}
		if err := s.readRows(map[string]string{"api:80 r": packed(5, 1, now.UnixMicro()-past, 0, 0, 0, 0) + "{}"}); err != nil || len(s.Rows) != want {
			t.Errorf("a row that ended %d µs ago: %+v, error %v", past, s.Rows, err)
		}
	}
	for left, want := range map[int64]time.Time{1: now.Add(time.Microsecond), 0: {}, -1: {}} {
		s := State{Now: now}
		if err := s.readBudgets(map[string]string{"ledger": packed(1, 1, now.UnixMicro()+left, 1) + "id"}); err != nil || !s.Quiet.Equal(want) {
			t.Errorf("with %d µs left it is quiet until %v, error %v", left, s.Quiet, err)
		}
	}
}

// TestSinceIsATime asserts that no number that a run writes makes a time that cannot be written as JSON.
func TestSinceIsATime(t *testing.T) {
	for _, us := range []int64{-1, 0, 1, 1 << 53, 1<<53 + 1, 1<<63 - 1} {
		if _, err := (Row{People: People{Since: us}}).Since().MarshalJSON(); err != nil {
			t.Errorf("%d: %v", us, err)
		}
	}
}
