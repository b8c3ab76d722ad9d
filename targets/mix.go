package targets

import (
	"cmp"
	"container/heap"
	"fmt"
	"slices"
	"strings"

	"github.com/loadctl/loadctl/targets/rows"
)

// The orders in which flows come.
const (
	PickCycle  = "cycle"  // in a cycle with exact shares
	PickRandom = "random" // any flow, whatever came before: shares hold on average
)

// Picks returns the orders in which flows may come.
func Picks() []string { return []string{PickCycle, PickRandom} }

// maxCycle bounds the length of a mix's cycle.
const maxCycle = 100_000

// A Mix decides which flow a slot starts, by its number alone: all workers decide alike, without asking anybody. Flows
// follow each other in a cycle of W places, W the sum of the weights without their common divisor. It never changes.
//
// Among the first n slots, a flow of weight w has n·w/W: less than one more or less.
//
// With PickRandom a slot takes any place of the cycle, by a hash of its number. Then the shares hold on average.
type Mix struct {
	names  []string            // of the steps, those of the first flow first
	first  []int               // index of each flow's first step
	places []place             // of the steps
	walks  bool                // a flow has several steps
	each   bool                // each request has a slot
	cycle  []uint16            // index of the flow, by place
	random func(uint64) int64  // the place of a slot, by its number; nil = the number modulo W
	uses   map[string][]uint32 // of each data file: how many of the first i places use it, i = 0 … W
}

// cycle returns W.
func cycle(flows []Flow) (sum int64) {
	var divisor int64
	for _, f := range flows {
		a, b := divisor, f.weight()
		for b > 0 {
			a, b = b, a%b
		}
		divisor, sum = a, sum+f.weight()
	}
	return sum / max(1, divisor)
}

// Mix returns the mix of the flows; nil if there are none. The flows must be valid. Cells in their conditions are examples.
func (s Spec) Mix() *Mix { return s.MixOf(nil) }

// MixOf is Mix with the rows of data files.
func (s Spec) MixOf(tables Tables) *Mix {
	if len(s.Flows) == 0 {
		return nil
	}
	m := &Mix{cycle: order(s.Flows), uses: map[string][]uint32{}, places: newPlaces(s.Flows)}
	m.walks, m.each = s.Walks(), s.SlotEach()
	if s.Pick == PickRandom {
		// No data file can have this name, so rows do not depend on the flow that they come to.
		m.random = rows.Source{Name: "the flows", Pick: rows.Random, Rows: int64(len(m.cycle))}.Picker()
	}
	for _, f := range s.Flows {
		m.first = append(m.first, len(m.names))
		for _, step := range f.Steps {
			m.names = append(m.names, step.Name)
		}
	}
	for _, d := range s.Data {
		m.uses[d.Name] = m.count(s.users(d.Name))
	}
	m.setCourses(s, tables)
	return m
}

// order returns the cycle. Turn j = 0, 1, … of a flow of weight w may have the places
//
//	⌊j·W/w⌋ ≤ k < ⌈(j+1)·W/w⌉
//
// Each place goes to the turn that may wait least. That gives each turn one of its places (Baruah, Cohen, Plaxton and
// Varvel, Proportionate Progress, 1996: for one processor).
func order(flows []Flow) []uint16 {
	var sum int64
	for _, f := range flows {
		sum += f.weight()
	}
	places := make([]uint16, cycle(flows))
	coming := make([][]turn, len(places)) // by the first place that they may have
	var open turns
	for i, f := range flows {
		coming[0] = append(coming[0], turn{flow: i, weight: f.weight(), sum: sum})
	}
	for k := range places {
		for _, t := range coming[k] {
			heap.Push(&open, t)
		}
		coming[k] = nil
		t := heap.Pop(&open).(turn)
		places[k] = uint16(t.flow)
		if t.number++; t.first() < int64(len(places)) {
			from := max(t.first(), int64(k)+1)
			coming[from] = append(coming[from], t)
		}
	}
	return places
}

// A turn is one of the places that a flow has in the cycle.
type turn struct {
	flow                int
	number, weight, sum int64
}

func (t *turn) first() int64 { return t.number * t.sum / t.weight }
func (t *turn) end() int64   { return ((t.number+1)*t.sum + t.weight - 1) / t.weight }

// turns is a heap: the turn that may wait least comes first.
type turns []turn

func (l turns) Len() int { return len(l) }
func (l turns) Less(i, j int) bool {
	return l[i].end() < l[j].end() || l[i].end() == l[j].end() && l[i].flow < l[j].flow
}
func (l turns) Swap(i, j int) { l[i], l[j] = l[j], l[i] }
func (l *turns) Push(t any)   { *l = append(*l, t.(turn)) }
func (l *turns) Pop() any {
	last := len(*l) - 1
	t := (*l)[last]
	*l = (*l)[:last]
	return t
}

// users reports for each flow whether it uses this data file.
func (s Spec) users(source string) []bool {
	all := make([]bool, len(s.Flows))
	for i, f := range s.Flows {
		all[i] = slices.ContainsFunc(Spec{Data: s.Data, Flows: []Flow{f}}.placeholders(), func(name string) bool { return strings.HasPrefix(name, source+".") })
	}
	return all
}

// checkPick checks the order of flows, and that it leaves no row out that is used once.
func (s Spec) checkPick() error {
	switch {
	case s.Pick == "" || s.Pick == PickCycle:
		return nil
	case s.Pick != PickRandom:
		return fmt.Errorf("targets pick %.20q: write one of %s", s.Pick, strings.Join(Picks(), ", "))
	}
	for _, d := range s.Data {
		if i := slices.Index(s.users(d.Name), false); i >= 0 && d.Pick == rows.Once {
			return fmt.Errorf("data: with flows at random, each flow has to use %s because of pick=once, and %s does not; take flows in a cycle, or another pick of the file, such as shuffle",
				d.Name, s.Flows[i].Name)
		}
	}
	return nil
}

// pick is the order in effect.
func (s Spec) pick() string { return cmp.Or(s.Pick, PickCycle) }

// count returns how many of the first i places have one of these flows, for each i.
func (m *Mix) count(flows []bool) []uint32 {
	sums := make([]uint32, len(m.cycle)+1)
	for i, flow := range m.cycle {
		sums[i+1] = sums[i]
		if flows[flow] {
			sums[i+1]++
		}
	}
	return sums
}

// Names returns the label of each step.
func (m *Mix) Names() []string { return slices.Clone(m.names) }

// Flow returns the index of the flow that a slot with this number starts.
func (m *Mix) Flow(number uint64) uint16 {
	if m.random != nil {
		return m.cycle[m.random(number)]
	}
	return m.cycle[number%uint64(len(m.cycle))]
}

// Step returns the index of the first step of that flow.
func (m *Mix) Step(number uint64) int { return m.first[m.Flow(number)] }

// turn returns how many of the slots before this one start a flow that uses a data file: so rows go in turn to the flows
// that use them. Two slots that use the file have different turns.
//
// At random only a count from the first slot on would show it. So each slot has a turn there, and those of other flows
// are left out.
func (m *Mix) turn(source string, number uint64) uint64 {
	if m.random != nil {
		return number
	}
	sums, w := m.uses[source], uint64(len(m.cycle))
	return number/w*uint64(sums[w]) + uint64(sums[number%w])
}

// until returns how many slots there are until a data file was used n times: the number of the slot that would use it
// once more. It is 0 if none uses it.
func (m *Mix) until(source string, n int64) int64 {
	if m.random != nil {
		return n
	}
	sums, w := m.uses[source], int64(len(m.cycle))
	each := int64(sums[w])
	if each == 0 {
		return 0
	}
	rest := uint32(n % each)
	i, _ := slices.BinarySearch(sums, rest+1) // the first place after which rest+1 were used
	return n/each*w + int64(i-1)
}
