package record_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/report/record"
)

// TestSnapshotOutages: an ongoing outage grows, a short one is ignored, and the last ones are kept.
func TestSnapshotOutages(t *testing.T) {
	s := record.NewSnapshot("w", "i")
	s.Outage(10e6, 11e6)
	s.Outage(20e6, 22e6)
	s.Outage(20e6, 29e6)
	if !slices.Equal(s.Outages, []record.Outage{{From: 20e6, To: 29e6}}) {
		t.Errorf("%v", s.Outages)
	}
	before := s.Outages
	for i := range int64(100) {
		s.Outage(100e6+i*10e6, 105e6+i*10e6)
	}
	if len(s.Outages) != record.MaxOutages || s.Outages[0].From != 940e6 || s.Outages[15].From != 1_090e6 || len(before) != 1 {
		t.Errorf("%v", s.Outages)
	}
	data, err := s.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	back := new(record.Snapshot)
	if err := back.UnmarshalBinary(data); err != nil || !slices.Equal(back.Outages, s.Outages) {
		t.Errorf("%v, %v", err, back.Outages)
	}
	for bad, says := range map[string]string{
		`{"from":-1,"to":5}`: "count from = -1", `{"from":1,"to":9007199254740993}`: "out of range", `{"from":6,"to":5}`: "ends before it begins",
		strings.Repeat(`{},`, record.MaxOutages) + `{}`: "17 outages",
	} {
		if err := back.UnmarshalBinary(fmt.Appendf(nil, `{"v":1,"outages":[%s]}`, bad)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
