package program

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/targets/formula"
)

// memory keeps values in a list.
type memory struct{ all []string }

func (m *memory) Taken() []string { return m.all }
func (m *memory) Keep(i int, value string) {
	for len(m.all) <= i {
		m.all = append(m.all, "")
	}
	m.all[i] = value
}

// events is what a flow did: names of steps and how it ended.
type events []string

// answers decides what steps take, in the order in which they are sent.
type answers struct {
	rng  *rand.Rand
	sent int
}

func (a *answers) next() (value string, status int) {
	a.sent++
	return fmt.Sprint(a.rng.IntN(3)), 200 + a.rng.IntN(2)
}

// run runs a program to its end. Each step takes the value a; the first one takes a list too.
func run(t *testing.T, p *Program, seed uint64) (done events, s State) {
	t.Helper()
	a := answers{rng: rand.New(rand.NewPCG(seed, 7))}
	m := &memory{}
	p.Begin(&s)
	step := 0
	for {
		done = append(done, fmt.Sprint("step ", step))
		value, status := a.next()
		keep := func(name, value string) { m.Keep(slices.Index(p.Names, name), value) }
		keep("a", value)
		if step == 0 {
			keep("list", `["x", 1, "0"]`)
		}
		before := s
		turn, err := p.Next(&s, m, &formula.Values{Status: status, Ordinal: seed})
		switch {
		case err != nil:
			return append(done, "fail "+err.Error()), s
		case turn.Step < 0:
			return append(done, "end"), s
		case turn.Again != (before.Fate(turn.Step) == Reached):
			t.Fatalf("step %d: again %v", turn.Step, turn.Again)
		case turn.Pause > 0:
			done = append(done, fmt.Sprint("pause ", turn.Pause))
		}
		step = turn.Step
	}
}

// tree runs blocks as they stand, by recursion.
type tree struct {
	names   map[string]string
	answers answers
	ordinal uint64
	status  int
	loops   []int
	pause   int // ms
	done    events
	fate    map[int]Fate
}

var errEnd = errors.New("the flow has failed")

// value computes an expression.
func (r *tree) value(text string) string {
	var s formula.Scope
	v := formula.Values{Status: r.status, Ordinal: r.ordinal}
	for name, value := range r.names {
		s.Taken, v.Taken = append(s.Taken, name), append(v.Taken, value)
	}
	if n := len(r.loops); n > 0 {
		s.Loop, v.Loop = true, r.loops[n-1]
	}
	f, err := formula.Parse(text, s)
	if err != nil {
		panic(err)
	}
	value, err := f.Value(&v)
	if err != nil {
		panic(err)
	}
	return value
}

// leave notes the steps of blocks that a decision leaves out.
func (r *tree) leave(blocks []*Block) {
	for _, b := range blocks {
		if b.Sends() && r.fate[b.Step] == Missed {
			r.fate[b.Step] = Bypassed
		}
		r.leave(b.Then)
		r.leave(b.Else)
	}
}

// list runs blocks that follow each other.
func (r *tree) list(blocks []*Block) error {
	for _, b := range blocks {
		if err := r.block(b); err != nil {
			return err
		}
	}
	return nil
}

func (r *tree) block(b *Block) error {
	switch {
	case b.Sends():
		if r.pause > 0 {
			r.done = append(r.done, fmt.Sprintf("pause %dms", r.pause))
		}
		r.pause = 0
		r.done, r.fate[b.Step] = append(r.done, fmt.Sprint("step ", b.Step)), Reached
		r.names["a"], r.status = r.answers.next()
		if b.Step == 0 {
			r.names["list"] = `["x", 1, "0"]`
		}
	case b.If != "":
		if r.value(b.If) == "true" {
			r.leave(b.Else)
			return r.list(b.Then)
		}
		r.leave(b.Then)
		return r.list(b.Else)
	case b.Fail != "":
		r.done = append(r.done, "fail "+b.Fail)
		return errEnd
	case b.Pause != "":
		r.pause += 5
	case len(b.Set) > 0:
		for _, s := range b.Set {
			r.names[s.Name] = r.value(s.To)
		}
	default:
		return r.loop(b)
	}
	return nil
}

func (r *tree) loop(b *Block) error {
	items := []string{"x", "1", "0"}
	r.loops = append(r.loops, 0)
	for i := 0; ; i++ {
		r.loops[len(r.loops)-1] = i
		if b.Repeat > 0 && i == b.Repeat || b.ForEach != nil && i == len(items) || b.While != "" && r.value(b.While) != "true" {
			break
		}
		if b.ForEach != nil {
			r.names[b.ForEach.Name] = items[i]
		}
		if err := r.list(b.Then); err != nil {
			return err
		}
	}
	r.loops = r.loops[:len(r.loops)-1]
	r.leave(b.Then)
	return nil
}

// grower makes random trees.
type grower struct {
	*rand.Rand
	steps, loops int
}

func (g *grower) send() *Block {
	g.steps++
	return &Block{Step: g.steps - 1}
}

func (g *grower) condition() string {
	all := []string{`${a} == "1"`, `${status} == 201`, `${ordinal} % 2 == 0`, `${n} > 1`, `${a} + ${n} >= 3`, `true`, `false`}
	if g.loops > 0 {
		all = append(all, `${loop} == 1`, `${loop} < ${a}`)
	}
	return all[g.IntN(len(all))]
}

// list makes blocks that follow each other, of which the first one sends a step.
func (g *grower) list(depth int) []*Block {
	all := []*Block{g.send()}
	if depth == 0 {
		all = append(all, &Block{Set: []Set{{"n", `1`}}})
	}
	for range g.IntN(5) {
		kind := g.IntN(9)
		if depth == 3 && kind > 4 || g.steps > 90 {
			kind = g.IntN(4)
		}
		b := &Block{}
		switch kind {
		case 0, 1:
			b = &Block{Set: []Set{{"n", `${n} + 1`}}}
			if g.steps < 90 {
				b = g.send()
			}
		case 2:
			b.Pause = "5ms"
		case 3:
			b.Set = []Set{{"n", `(${n} + 1) % 4`}}
		case 4:
			if b.Set = []Set{{"n", `${a} * 1`}}; g.IntN(6) == 0 {
				b = &Block{Fail: "out of stock"}
			}
		case 5, 6:
			b.If, b.Then = g.condition(), g.list(depth+1)
			if g.IntN(2) == 0 {
				b.Else = g.list(depth + 1)
			}
		default:
			g.loops++
			switch g.IntN(3) {
			case 0:
				b.Repeat = 1 + g.IntN(3)
			case 1:
				b.While = "${loop} < 3 && " + g.condition()
			default:
				b.ForEach = &Each{"item", "list"}
			}
			b.Then = g.list(depth + 1)
			g.loops--
		}
		all = append(all, b)
	}
	return all
}

// takesOf returns what the steps of the tests take.
func takesOf(n int) [][]string {
	takes := slices.Repeat([][]string{{"a"}}, n)
	takes[0] = []string{"a", "list"}
	return takes
}

// TestProgramIsTheTree asserts that a program does what its tree says, over random trees: the same steps, pauses and end, the
// same fates, and no more requests than Compile says.
func TestProgramIsTheTree(t *testing.T) {
	sends, kinds := 0, map[string]int{}
	for seed := range uint64(2000) {
		g := &grower{Rand: rand.New(rand.NewPCG(seed, 3))}
		blocks := g.list(0)
		p, err := Compile(blocks, takesOf(g.steps))
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		got, state := run(t, p, seed)
		r := &tree{names: map[string]string{}, answers: answers{rng: rand.New(rand.NewPCG(seed, 7))}, ordinal: seed, fate: map[int]Fate{}}
		if r.list(blocks) == nil {
			r.done = append(r.done, "end")
		}
		if !slices.Equal(got, r.done) {
			t.Fatalf("seed %d: the program did\n%v, the tree\n%v", seed, got, r.done)
		}
		times := map[string]int64{}
		for _, e := range got {
			if strings.HasPrefix(e, "step") {
				times[e]++
			}
		}
		for i := range g.steps {
			if state.Fate(i) != r.fate[i] {
				t.Fatalf("seed %d: step %d: fate %v, want %v", seed, i, state.Fate(i), r.fate[i])
			}
			if n := times[fmt.Sprint("step ", i)]; n > p.Times[i] {
				t.Fatalf("seed %d: step %d was sent %d times, at most %d", seed, i, n, p.Times[i])
			}
		}
		n := int64(r.answers.sent)
		if n > p.Most || got[len(got)-1] == "end" && n < p.Least {
			t.Fatalf("seed %d: %d requests, not %d to %d", seed, n, p.Least, p.Most)
		}
		sends += int(n)
		kinds[strings.Fields(got[len(got)-1])[0]]++
	}
	if sends < 10_000 || kinds["end"] < 500 || kinds["fail"] < 100 {
		t.Errorf("the trees are too simple: %d requests, %v", sends, kinds)
	}
}

// flow compiles blocks of steps that take a and list.
func flow(t *testing.T, steps int, blocks ...*Block) *Program {
	t.Helper()
	p, err := Compile(blocks, takesOf(steps))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestBounds asserts that a flow without an end fails.
func TestBounds(t *testing.T) {
	send := func(i int) *Block { return &Block{Step: i} }
	set := func(to string) *Block { return &Block{Set: []Set{{"n", to}}} }
	nested := send(1)
	for range MaxDepth - 1 {
		nested = &Block{Repeat: 3, Then: []*Block{nested}}
	}
	for want, p := range map[string]*Program{
		"fail " + ErrSends.Error():          flow(t, 2, send(0), &Block{While: "true", Then: []*Block{send(1)}}),
		"fail " + ErrSends.Error() + " ":    flow(t, 2, send(0), nested),
		"fail " + ErrTurns.Error():          flow(t, 1, send(0), &Block{While: "true", Then: []*Block{set("1")}}),
		"fail " + ErrList.Error():           flow(t, 2, send(0), &Block{ForEach: &Each{"x", "a"}, Then: []*Block{send(1)}}),
		"fail " + formula.ErrNumber.Error(): flow(t, 1, send(0), set("${list} + 1")),
		"fail no stock":                     flow(t, 1, send(0), &Block{Fail: "no stock"}),
	} {
		if got, s := run(t, p, 1); got[len(got)-1] != strings.TrimSpace(want) || s.sends > MaxSends+1 {
			t.Errorf("%d events, at last %s, want %s", len(got), got[len(got)-1], want)
		}
	}
}

// TestValuesAreBounded asserts that long values and lists end a flow.
func TestValuesAreBounded(t *testing.T) {
	p := flow(t, 2, &Block{}, &Block{Set: []Set{{"n", "${a}"}}}, &Block{ForEach: &Each{"x", "list"}, Then: []*Block{{Step: 1}}})
	for want, values := range map[error][2]string{
		nil:      {strings.Repeat("x", MaxValue), "[" + strings.Repeat("1,", MaxItems-1) + "1]"},
		ErrValue: {strings.Repeat("x", 1<<20), "[]"},
		ErrItems: {"", "[" + strings.Repeat("1,", MaxItems) + "1]"},
		ErrList:  {"", "[1,2"},
	} {
		var s State
		m := &memory{values[:]}
		p.Begin(&s)
		if turn, err := p.Next(&s, m, &formula.Values{}); !errors.Is(err, want) || err == nil && turn.Step != 1 {
			t.Errorf("%v, %v, want %v", turn, err, want)
		}
	}
}

// TestBadBlocks asserts that Compile refuses what no flow can do, and says where.
func TestBadBlocks(t *testing.T) {
	send := func(i int) *Block { return &Block{Step: i} }
	deep := send(1)
	for range MaxDepth + 1 {
		deep = &Block{If: "true", Then: []*Block{deep}}
	}
	for want, blocks := range map[string][]*Block{
		"there are no steps":                         {},
		"a flow begins with a request":               {{If: "true", Then: []*Block{send(0)}}, send(1)},
		"a flow begins with a request, ":             {{Repeat: 2, Then: []*Block{{Pause: "1s"}, send(0)}}, send(1)},
		"send each of its steps in one place":        {send(0)},
		"send each of its steps in one place, ":      {send(0), send(0)},
		"send each of its steps in one place,  ":     {send(0), send(1), send(2)},
		"nested deeper than 8":                       {send(0), deep},
		"an entry of the flow is null":               {send(0), nil, send(1)},
		"an entry of the flow is null; ":             {nil, send(0), send(1)},
		"an entry of the flow is null; leave":        {send(0), {If: "true", Then: []*Block{nil}}, send(1)},
		"has no steps":                               {send(0), {If: "true"}, send(1)},
		"repeat, character 1: a loop repeats its":    {send(0), {Repeat: 1001, Then: []*Block{send(1)}}},
		"fail, character 1: the reason has 1 to":     {send(0), send(1), {Fail: strings.Repeat("x", 60)}},
		"pause, character 1: there is no pause":      {send(0), send(1), {Pause: "gauss 1s"}},
		"if, character 6: ":                          {send(0), {If: "1 == ${x}", Then: []*Block{send(1)}}},
		"set, character 1: ${loop} counts a loop":    {send(0), send(1), {Set: []Set{{"n", "${loop}"}}}},
		"while, character 1: this is a number":       {send(0), {While: "${loop}", Then: []*Block{send(1)}}},
		"if, character 1: ${m} is not taken":         {send(0), {If: `${a} == "1"`, Then: []*Block{send(1), {Set: []Set{{"m", "1"}}}}}, {If: "${m} == 1", Then: []*Block{{Fail: "x"}}}},
		"if, character 1: ${item} is not taken":      {send(0), {ForEach: &Each{"item", "list"}, Then: []*Block{send(1)}}, {If: "${item} == 1", Then: []*Block{{Fail: "x"}}}},
		"for_each, character 1: ${b} is not taken":   {send(0), {ForEach: &Each{"item", "b"}, Then: []*Block{send(1)}}},
		"the flow has more than 1000 entries; make ": append([]*Block{send(0), send(1)}, slices.Repeat([]*Block{{Pause: "1s"}}, 999)...),
	} {
		_, err := Compile(blocks, takesOf(2))
		if e, ok := errors.AsType[*Error](err); !ok || !strings.Contains(e.Error(), strings.TrimRight(want, " ")) || strings.Contains(e.Error(), "\n") {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestKnown asserts which values are there for sure: a condition may leave out what takes them.
func TestKnown(t *testing.T) {
	send := func(i int) *Block { return &Block{Step: i} }
	takes := [][]string{{"a"}, {"b"}, {"c", "b"}, {"d"}, {"e"}, nil}
	p, err := Compile([]*Block{send(0), {If: `${a} == "1"`, Then: []*Block{send(1)}, Else: []*Block{send(2)}},
		{If: `${a} == "2"`, Then: []*Block{send(3)}, Else: []*Block{{Fail: "x"}}}, {Repeat: 2, Then: []*Block{send(4)}}, send(5)}, takes)
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{nil, {"a"}, {"a", "?b"}, {"a", "b", "?c"}, {"a", "b", "?c", "d"}, {"a", "b", "?c", "d", "e"}}
	if !slices.EqualFunc(p.Known, want, slices.Equal[[]string]) {
		t.Errorf("got %q, want %q", p.Known, want)
	}
}

// TestDead asserts which blocks no flow reaches, and that they do not count.
func TestDead(t *testing.T) {
	send := func(i int) *Block { return &Block{Step: i} }
	blocks := []*Block{send(0), {If: "1 > 2", Then: []*Block{send(1)}, Else: []*Block{send(2)}}, {While: "${loop} < 0", Then: []*Block{send(3)}},
		{While: "true", Then: []*Block{send(4)}}, send(5)}
	p := flow(t, 6, blocks...)
	dead := []bool{false, true, false, true, false, true}
	for i, b := range []*Block{blocks[0], blocks[1].Then[0], blocks[1].Else[0], blocks[2].Then[0], blocks[3].Then[0], blocks[4]} {
		if p.Dead[b] != dead[i] || (p.Times[i] == 0) != dead[i] {
			t.Errorf("step %d: dead %v, %d times", i, p.Dead[b], p.Times[i])
		}
	}
	if p.Least != 2 || p.Most != MaxSends {
		t.Errorf("%d to %d requests", p.Least, p.Most)
	}
}

// TestParsePause asserts which pauses there are, and that drawn ones have their mean.
func TestParsePause(t *testing.T) {
	for text, want := range map[string][2]float64{"500ms": {0.5, 0.5}, "exp 2s": {2, 20}, " uniform 1s..3s": {2, 3}, "0s": {0, 0}, "exp 30m": {1800, 3600}, "uniform 1s .. 1s": {1, 1}} {
		p, err := ParsePause(text)
		if err != nil || p.Mean.Seconds() != want[0] || p.Most.Seconds() != want[1] {
			t.Errorf("%s: %v, %v", text, p, err)
			continue
		}
		const n = 20_000
		sum := 0.0
		for range n {
			d := p.Draw().Seconds()
			if sum += d; d < 0 || d > want[1] {
				t.Fatalf("%s: drew %v s", text, d)
			}
		}
		if want[1] < 3600 && (sum/n < want[0]*0.9 || sum/n > want[0]*1.1) { // 14 standard errors of exp
			t.Errorf("%s: the mean of %d is %v s", text, n, sum/n)
		}
	}
	for _, text := range []string{"", "5", "exp", "exp x", "uniform 1s", "uniform 3s..1s", "uniform x..1s", "uniform 1s..x", "-1s", "2h", "gauss 1s", "exp 2h"} {
		if p, err := ParsePause(text); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, %v", text, p, err)
		}
	}
}

// BenchmarkNext measures one turn of a polling loop: its condition and the step.
func BenchmarkNext(b *testing.B) {
	p, err := Compile([]*Block{{Step: 0}, {While: `${a} == "running" && ${loop} < 20`, Then: []*Block{{Step: 1}}}}, [][]string{{"a"}, {"a"}})
	if err != nil {
		b.Fatal(err)
	}
	var s State
	m := &memory{[]string{"running"}}
	v := formula.Values{Status: 200}
	p.Begin(&s)
	b.ReportAllocs()
	for b.Loop() {
		turn, err := p.Next(&s, m, &v)
		if err != nil {
			b.Fatal(err)
		}
		if turn.Step < 0 {
			p.Begin(&s)
		}
	}
}
