package targets

import (
	"strings"
	"testing"

	"github.com/loadctl/loadctl/targets/program"
	"github.com/loadctl/loadctl/targets/rows"
)

// grown is a workload whose flow goes on as a cell of a data file says.
func grown(t *testing.T) (Spec, Tables) {
	t.Helper()
	table, err := rows.Read("users.csv", []byte("age\n17\n18\nold\n"))
	if err != nil {
		t.Fatal(err)
	}
	s := Spec{Data: []rows.Source{{Name: "users", SHA256: "x", Columns: []string{"age"}, Rows: 3, Pick: rows.Cycle}},
		Flows: []Flow{{Name: "f", Least: 1, Most: 2, Steps: []Step{{Name: "a", URL: "http://a/"}, {Name: "b", URL: "http://a/"}},
			Body: []*program.Block{{}, {If: "${users.age} >= 18", Then: []*program.Block{{Step: 1}}}}}}}
	if err := s.CheckWith(func(Spec) error { return nil }); err != nil {
		t.Fatal(err)
	}
	return s, Tables{"x": table}
}

// TestCourse asserts that a condition reads the row of its flow, and that what it cannot read fails the request before.
func TestCourse(t *testing.T) {
	s, tables := grown(t)
	m := s.MixOf(tables)
	for number, want := range []struct {
		step  int
		class string
	}{{-1, ""}, {1, ""}, {-1, "flow not a number"}, {-1, ""}} {
		c := Call{Number: uint64(number), Session: &Session{}}
		m.Course(0).Start(c.Session)
		if turn, class := m.Course(0).After(c, 200, 1); turn.Step != want.step || class != want.class {
			t.Errorf("slot %d: %+v, %q, want %+v", number, turn, class, want)
		}
	}
	if !m.Walks() || s.StepsPerFlow() != 2 || m.Requests(10) != 20 || m.Slots(9) != 4 {
		t.Errorf("a flow counts with %v requests: 10 have %d, and 9 requests are %d", s.StepsPerFlow(), m.Requests(10), m.Slots(9))
	}
	if least, most := s.Bounds(); least != 1 || most != 2 {
		t.Errorf("%v to %v requests", least, most)
	}
}

// TestCourseOfARow asserts that a condition reads the row that the requests of its flow have, also where that is not the number.
func TestCourseOfARow(t *testing.T) {
	s, tables := grown(t)
	m := s.MixOf(tables)
	for number := range uint64(3) {
		c := Call{Number: number, Session: &Session{}}
		c.Session.SetRow(1)
		m.Course(0).Start(c.Session)
		if turn, class := m.Course(0).After(c, 200, 1); turn.Step != 1 || class != "" {
			t.Errorf("slot %d: %+v, %q: the row is of an age of 18", number, turn, class)
		}
	}
}

// TestNullEntries asserts that a spec with a null in the body of a flow is refused.
func TestNullEntries(t *testing.T) {
	s, _ := grown(t)
	s.Flows[0].Body = append(s.Flows[0].Body, nil)
	if err := s.CheckWith(func(Spec) error { return nil }); err == nil || !strings.Contains(err.Error(), "an entry of the flow is null; leave it out") {
		t.Error(err)
	}
}

// TestBadBodies asserts that a spec whose body is wrong is refused, wherever it comes from.
func TestBadBodies(t *testing.T) {
	for want, change := range map[string]func(f *Flow){
		"flow f: the body sends 1 to 2 requests, and not 1 to 3": func(f *Flow) { f.Most = 3 },
		"flow f: least and most: they are those of a body":       func(f *Flow) { f.Body = nil },
		"flow f: ${users.name}: the file has no such column":     func(f *Flow) { f.Body[1].If = "${users.name} == 1" },
		"flow f: ${people.age}: no data file has this name":      func(f *Flow) { f.Body[1].If = "${people.age} == 1" },
		"flow f: if, character 1: this is a text":                func(f *Flow) { f.Body[1].If = "${users.age} && ${users.age}" },
		`flow f: set "now": ${now} has a meaning already`: func(f *Flow) {
			f.Body[1] = &program.Block{Set: []program.Set{{Name: "now", To: "1"}}}
			f.Body = append(f.Body, &program.Block{Step: 1})
			f.Least = 2
		},
		"step b: a step in a loop has no time": func(f *Flow) {
			f.Body[1] = &program.Block{Repeat: 2, Then: f.Body[1].Then}
			f.Steps[1].At = 1
			f.Least, f.Most = 3, 3
		},
		"pause: its mean is not that of after": func(f *Flow) { f.Steps[1].Pause = "exp 2s" },
	} {
		s, _ := grown(t)
		change(&s.Flows[0])
		if err := s.CheckWith(func(Spec) error { return nil }); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
