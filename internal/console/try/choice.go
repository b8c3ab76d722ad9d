package try

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/rows"
)

// mostSearched is how many slots are looked at for one that is wanted. It takes less than a second.
const mostSearched = 1 << 24

// mostNamed is how many flows an error lists.
const mostNamed = 10

// A Choice says which slot of a run is tried. The zero value is the first one.
type Choice struct {
	Flow    string // name of the flow that it starts; "" = any
	Row     int64  // of the first data file that the flow uses, from 1; 0 = any
	Ordinal int64  // its number, from 0
	Exactly bool   // Ordinal counts
}

// Slot returns the number of the first slot that is wanted. slots is how many a run of s has; 0 = there is always one more.
func (c Choice) Slot(s targets.Spec, slots int64) (uint64, error) {
	flow, err := c.flow(s)
	if err != nil {
		return 0, err
	}
	mix := s.Mix()
	starts := func(n uint64) bool { return mix == nil || flow < 0 || int(mix.Flow(n)) == flow }
	switch {
	case c.Exactly && slots > 0 && c.Ordinal >= slots:
		return 0, fmt.Errorf("--ordinal %d: the run ends with slot %d, because a data file has no more rows", c.Ordinal, slots-1)
	case c.Exactly && !starts(uint64(c.Ordinal)):
		return 0, fmt.Errorf("--ordinal %d: this slot starts the flow %s; leave --flow or --ordinal out", c.Ordinal, s.Flows[mix.Flow(uint64(c.Ordinal))].Name)
	case c.Exactly:
		return uint64(c.Ordinal), nil
	case c.Row > 0:
		return c.withRow(s, mix, flow, slots)
	}
	n, found := first(0, slots, starts)
	if !found {
		return 0, fmt.Errorf("--flow %s: none of the first slots starts it; a data file may have no more rows", c.Flow)
	}
	return n, nil
}

// withRow is Slot with a row.
func (c Choice) withRow(s targets.Spec, mix *targets.Mix, flow int, slots int64) (uint64, error) {
	name := ""
	if mix != nil {
		if flow < 0 {
			flow = int(mix.Flow(0))
		}
		name = " of the flow " + s.Flows[flow].Name
	}
	files := s.DataOf(max(0, flow))
	if len(files) == 0 {
		return 0, fmt.Errorf("--row %d: no request%s uses a data file; choose the slot with --ordinal, or another --flow", c.Row, name)
	}
	d := files[0]
	if c.Row > d.Rows {
		return 0, fmt.Errorf("--row %d: %s has %d rows", c.Row, d.Name, d.Rows)
	}
	from := uint64(0)
	if d.Pick == rows.Cycle || d.Pick == rows.Once {
		from = uint64(c.Row - 1) // no earlier slot can have it
	}
	row := mix.Picker(d)
	n, found := first(from, slots, func(n uint64) bool {
		return (mix == nil || int(mix.Flow(n)) == flow) && row(n) == c.Row-1
	})
	if !found {
		return 0, fmt.Errorf("--row %d: no request%s gets this row of %s: other flows have it", c.Row, name, d.Name)
	}
	return n, nil
}

// flow returns the index of the flow that is wanted; -1 = any.
func (c Choice) flow(s targets.Spec) (int, error) {
	if c.Flow == "" {
		return -1, nil
	}
	if len(s.Flows) == 0 {
		return 0, fmt.Errorf("--flow %.40s: a URL alone has no flows; leave it out, or give --workload FILE or --targets FILE", c.Flow)
	}
	if i := slices.IndexFunc(s.Flows, func(f targets.Flow) bool { return f.Name == c.Flow }); i >= 0 {
		return i, nil
	}
	var names []string
	for _, f := range s.Flows[:min(len(s.Flows), mostNamed)] {
		names = append(names, f.Name)
	}
	more := map[bool]string{true: fmt.Sprintf(" and %d more", len(s.Flows)-mostNamed)}[len(s.Flows) > mostNamed]
	return 0, fmt.Errorf("--flow %.40q: there is no such flow; there are %s%s", c.Flow, strings.Join(names, ", "), more)
}

// first returns the first slot from one on that is wanted.
func first(from uint64, slots int64, wanted func(n uint64) bool) (uint64, bool) {
	end := from + mostSearched
	if slots > 0 {
		end = min(end, uint64(slots))
	}
	for n := from; n < end; n++ {
		if wanted(n) {
			return n, true
		}
	}
	return 0, false
}
