package targets

import (
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/targets/rows"
)

// given returns a data file as a spec and a process have it.
func given(t *testing.T, name, content, pick string) (rows.Source, Tables) {
	t.Helper()
	table, err := rows.Read(name+".csv", []byte(content))
	if err != nil {
		t.Fatal(err)
	}
	s := rows.Source{Name: name, Pick: pick, Columns: table.Columns(), Rows: table.Rows(), SHA256: table.SHA256(), Bytes: table.Bytes()}
	return s, Tables{s.SHA256: table}
}

// TestDataFillsRequests: cells arrive as they are in the file, escaped as URL, JSON and form demand, from the Target and
// from the Wire.
func TestDataFillsRequests(t *testing.T) {
	var got seen
	server := httptest.NewServer(&got)
	defer server.Close()
	users, tables := given(t, "users", "name,id\n\"a/\"\"b\\ü&c\",1\nx,2\n", rows.Cycle)
	json, form := Header{"Content-Type", "application/json; charset=utf-8"}, Header{"Content-Type", "application/x-www-form-urlencoded"}
	for _, c := range []struct {
		spec Spec
		n    uint64
		want string // path, header X and body, as the server saw them
	}{
		{Spec{URL: "/u/${users.name}?q=${ users.name }&i=${users.id}"}, 0, `/u/a%2F%22b%5C%C3%BC%26c?q=a%2F%22b%5C%C3%BC%26c&i=1  ""`},
		{Spec{URL: "/${users.id}"}, 5, `/2  ""`},
		{Spec{URL: "/", Headers: []Header{{"X", "${users.name}-${ordinal}"}}}, 3, `/ x-3 ""`},
		{Spec{URL: "/", Headers: []Header{json}, Body: []byte(`{"\"n":"${users.name}","i":${users.id}}`)}, 0, `/  "{\"\\\"n\":\"a/\\\"b\\\\ü&c\",\"i\":1}"`},
		{Spec{URL: "/", Headers: []Header{form}, Body: []byte(`n=${users.name}&i=${users.id}`)}, 0, `/  "n=a%2F%22b%5C%C3%BC%26c&i=1"`},
		{Spec{URL: "/", Headers: []Header{{"Content-Type", "application/x-ndjson"}}, Body: []byte("{\"a\":\"${users.name}\"}\n{\"b\":${users.id}}")}, 0, `/  "{\"a\":\"a/\\\"b\\\\ü&c\"}\n{\"b\":1}"`},
		{Spec{URL: "/", Body: []byte(`${users.name}`)}, 2, `/  "a/\"b\\ü&c"`},
	} {
		c.spec.URL, c.spec.Data = server.URL+c.spec.URL, []rows.Source{users}
		if err := c.spec.ValidateWith(tables); err != nil {
			t.Fatal(err)
		}
		target := open(t, c.spec, Local{Tables: tables})
		if out := target.Do(t.Context(), Call{Number: c.n}); out.Class != "" {
			t.Errorf("%+v", out)
		}
		lines := got.take()
		if len(lines) != 1 || !strings.HasSuffix(lines[0], " "+c.want) {
			t.Errorf("the server saw %s, want %s", lines, c.want)
		}
		w, err := NewWire(c.spec, Local{Tables: tables})
		if err != nil {
			t.Fatal(err)
		}
		wire := string(w.Fill(nil, Call{Number: c.n}))
		_, body, _ := strings.Cut(wire, "\r\n\r\n")
		if path := strings.Fields(wire)[1]; len(lines) == 1 && (!strings.Contains(lines[0], path) || !strings.HasSuffix(lines[0], quote(body))) {
			t.Errorf("%q differs from %s", wire, lines)
		}
		b := make([]byte, 0, 1000)
		if n := testing.AllocsPerRun(100, func() { b = w.Fill(b, Call{Number: c.n}) }); n != 0 {
			t.Errorf("%v allocations", n)
		}
	}
}

// TestWrongData: a run whose data do not fit is not created.
func TestWrongData(t *testing.T) {
	users, tables := given(t, "users", "name,two words\na,1\n\"b\nc\",2\n", rows.Cycle)
	other := users
	other.Name = "other"
	for want, s := range map[string]Spec{
		"url: ${people.name}: no data file has this name; there is users":                      {URL: "http://a/${people.name}", Data: []rows.Source{users}},
		"url: ${people.name}: no data file has this name; there is users or other":             {URL: "http://a/${people.name}", Data: []rows.Source{users, other}},
		"url: ${users.name}: there is no data file; give one, as in --data FILE.csv,name=NAME": {URL: "http://a/${users.name}"},
		"body: ${users.nam}: the file has no such column; use one of ${users.name}":            {URL: "http://a/${users.name}", Body: []byte("${users.nam}"), Data: []rows.Source{users}},
		"data: no placeholder uses other; write":                                               {URL: "http://a/${users.name}", Body: []byte("\xff${other.name}$${other.x}"), Data: []rows.Source{users, other}},
		"data: no placeholder uses users; write ${users.name} in URL, header or body":          {URL: "http://a/", Data: []rows.Source{users}},
		"data: two files are called users":                                                     {URL: "http://a/${users.name}", Data: []rows.Source{users, users}},
		"header X: ${users.name}: row 2 of the file has a line break or a control":             {URL: "http://a/", Headers: []Header{{"X", "${users.name}"}}, Data: []rows.Source{users}},
		"data: \"a b\" cannot be a name":                                                       {URL: "http://a/", Data: []rows.Source{{Name: "a b"}}},
		"data: the rows of other are missing":                                                  {URL: "http://a/${other.name}", Data: []rows.Source{{Name: "other", Columns: []string{"name"}, Rows: 1, Pick: rows.Once}}},
	} {
		if err := s.ValidateWith(tables); err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want %s", err, want)
		}
	}
	for _, build := range []func(Spec) error{
		func(s Spec) error { _, err := New(s, Local{}); return err },
		func(s Spec) error { _, err := NewWire(s, Local{}); return err },
	} {
		if err := build(Spec{URL: "http://a/${users.name}", Data: []rows.Source{users}}); err == nil || !strings.HasSuffix(err.Error(), "data: the rows of users are missing; put them in Local.Tables") {
			t.Error(err)
		}
	}
}

// TestNumbered: whether requests depend on their number, and how many rows there are for one request each.
func TestNumbered(t *testing.T) {
	users, _ := given(t, "users", "name\na\nb\n", rows.Once)
	more, _ := given(t, "more", "name\na\nb\nc\n", rows.Once)
	random := more
	random.Pick = rows.Random
	all := []Spec{{URL: "http://a/$${ordinal}"}, {URL: "http://a/${\tordinal }"}, {Headers: []Header{{"A", "${ordinal}"}}}, {Data: []rows.Source{more, users}}, {Data: []rows.Source{random}}}
	var numbered []bool
	var once []int64
	for _, s := range all {
		numbered, once = append(numbered, s.Numbered()), append(once, s.Once())
	}
	if !slices.Equal(numbered, []bool{false, true, true, true, false}) || !slices.Equal(once, []int64{0, 0, 0, 2, 0}) {
		t.Error(numbered, once)
	}
}
