package targets

import (
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/targets/rows"
)

// TestSlotEach: where each request has a slot, rates and counts of slots are those of requests, steps are due with their slots,
// and no row can be used once. Flows of one step change nothing.
func TestSlotEach(t *testing.T) {
	s := mixed(3, 2)
	s.RateOf = RateOfRequests
	s.Data = []rows.Source{{Name: "users", Columns: []string{"name"}, Rows: 9, Pick: rows.Once}}
	for i := range s.Flows {
		s.Flows[i].Steps[0].URL += "?${users.name}"
	}
	check := func() error { return s.CheckWith(func(Spec) error { return nil }) }
	if err := check(); s.SlotEach() || s.Mix().SlotEach() || err != nil {
		t.Error("flows of one step", err)
	}
	s.Flows[0].Steps = append(s.Flows[0].Steps, Step{Name: "later", URL: "http://a/", After: new(time.Duration)})
	if err := check(); err == nil || !strings.HasPrefix(err.Error(), "data: users has pick=once, and with the rate of requests") {
		t.Error(err)
	}
	s.Data[0].Pick = rows.Shuffle
	if err := check(); err != nil {
		t.Error(err)
	}
	for _, pick := range Picks() {
		s.Pick = pick
		m := s.Mix()
		if requests, slots := s.MeanSteps(); !s.SlotEach() || !m.SlotEach() || requests != 1 || slots != 1 || m.MeanSteps() != 1 || m.Requests(7) != 7 || m.Slots(7) != 7 || s.FromAnswer() != nil {
			t.Errorf("%s: %d requests in %d slots, mean %v, %d and %d of 7, from answers %v", pick, requests, slots, m.MeanSteps(), m.Requests(7), m.Slots(7), s.FromAnswer())
		}
	}
	if s.RateOf = "steps"; check() == nil {
		t.Error("an unknown rate is valid")
	}
	s.RateOf, s.Pick = RateOfFlows, PickCycle
	if s.SlotEach() || s.Mix().Requests(5) != 8 || len(s.FromAnswer()) != 1 {
		t.Errorf("a rate of flows: %d requests, from answers %v", s.Mix().Requests(5), s.FromAnswer())
	}
	if one := (Spec{URL: "http://a/", RateOf: RateOfRequests}); one.CheckWith(func(Spec) error { return nil }) == nil {
		t.Error("a URL alone has a rate of flows or requests")
	}
}
