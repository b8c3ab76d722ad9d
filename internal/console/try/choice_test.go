package try

import (
	"strings"
	"testing"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/rows"
)

// mixed returns two flows: a uses data, and b does not. pick is the order of flows, and of the rows.
func mixed(pick, row string) targets.Spec {
	return targets.Spec{
		Pick: pick, Data: []rows.Source{{Name: "u", Columns: []string{"name"}, Rows: 5, Pick: row}},
		Flows: []targets.Flow{
			{Name: "b", Weight: 3, Steps: []targets.Step{{Name: "b", URL: "http://h/"}}},
			{Name: "a", Steps: []targets.Step{{Name: "a", URL: "http://h/${u.name}"}}},
		},
	}
}

// TestSlotOfARow: the slot that is chosen starts the flow and has the row, and no earlier one does.
func TestSlotOfARow(t *testing.T) {
	for _, pick := range []string{"", targets.PickRandom} {
		for _, row := range rows.Picks() {
			s := mixed(pick, row)
			mix := s.Mix()
			has := func(n uint64, want int64) bool { return mix.Flow(n) == 1 && mix.Picker(s.Data[0])(n) == want-1 }
			for want := int64(1); want <= 5; want++ {
				got, err := Choice{Flow: "a", Row: want}.Slot(s, 0)
				if err != nil || !has(got, want) {
					t.Fatalf("pick %q, rows %s: slot %d of row %d, %v", pick, row, got, want, err)
				}
				for n := range got {
					if has(n, want) {
						t.Errorf("pick %q, rows %s: slot %d has row %d already", pick, row, n, want)
					}
				}
			}
		}
	}
}

// TestSlotThatNeverComes: a row that a flow never gets, and a flow that a run does not reach, are errors of one line.
func TestSlotThatNeverComes(t *testing.T) {
	shared := mixed("", rows.Cycle)
	shared.Data[0].Rows = 4
	shared.Flows[0] = targets.Flow{Name: "b", Steps: []targets.Step{{Name: "b", URL: "http://h/b/${u.name}"}}}
	for _, c := range []struct {
		choice Choice
		slots  int64
		says   string
	}{
		{Choice{Flow: "a", Row: 1}, 0, "--row 1: no request of the flow a gets this row of u: other flows have it"},
		{Choice{Flow: "a"}, 1, "--flow a: none of the first slots starts it"},
		{Choice{Row: 4}, 2, "--row 4: no request of the flow b gets this row"},
	} {
		if n, err := c.choice.Slot(shared, c.slots); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: slot %d, %v", c.choice, n, err)
		}
	}
	if n, err := (Choice{Flow: "a", Row: 2}).Slot(shared, 0); err != nil || n != 1 {
		t.Errorf("slot %d, %v", n, err)
	}
}
