package client_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/rows"
	"github.com/loadctl/loadctl/targets/wire"
)

// TestDataFillsRequests: cells arrive as they are in the file, escaped as URL, JSON and form demand, from the Target and
// from the Wire.
func TestDataFillsRequests(t *testing.T) {
	var got seen
	server := httptest.NewServer(&got)
	defer server.Close()
	users, tables := given(t, "users", "name,id\n\"a/\"\"b\\ü&c\",1\nx,2\n", rows.Cycle)
	json, form := targets.Header{Name: "Content-Type", Value: "application/json; charset=utf-8"}, targets.Header{Name: "Content-Type", Value: "application/x-www-form-urlencoded"}
	for _, c := range []struct {
		spec targets.Spec
		n    uint64
		want string // path, header X and body, as the server saw them
	}{
		{targets.Spec{URL: "/u/${users.name}?q=${ users.name }&i=${users.id}"}, 0, `/u/a%2F%22b%5C%C3%BC%26c?q=a%2F%22b%5C%C3%BC%26c&i=1  ""`},
		{targets.Spec{URL: "/${users.id}"}, 5, `/2  ""`},
		{targets.Spec{URL: "/", Headers: []targets.Header{{Name: "X", Value: "${users.name}-${ordinal}"}}}, 3, `/ x-3 ""`},
		{targets.Spec{URL: "/", Headers: []targets.Header{json}, Body: []byte(`{"\"n":"${users.name}","i":${users.id}}`)}, 0, `/  "{\"\\\"n\":\"a/\\\"b\\\\ü&c\",\"i\":1}"`},
		{targets.Spec{URL: "/", Headers: []targets.Header{form}, Body: []byte(`n=${users.name}&i=${users.id}`)}, 0, `/  "n=a%2F%22b%5C%C3%BC%26c&i=1"`},
		{targets.Spec{URL: "/", Headers: []targets.Header{{Name: "Content-Type", Value: "application/x-ndjson"}}, Body: []byte("{\"a\":\"${users.name}\"}\n{\"b\":${users.id}}")}, 0, `/  "{\"a\":\"a/\\\"b\\\\ü&c\"}\n{\"b\":1}"`},
		{targets.Spec{URL: "/", Body: []byte(`${users.name}`)}, 2, `/  "a/\"b\\ü&c"`},
	} {
		c.spec.URL, c.spec.Data = server.URL+c.spec.URL, []rows.Source{users}
		if err := wire.ValidateWith(c.spec, tables); err != nil {
			t.Fatal(err)
		}
		target := open(t, c.spec, targets.Local{Tables: tables})
		if out := target.Do(t.Context(), targets.Call{Number: c.n}); out.Class != "" {
			t.Errorf("%+v", out)
		}
		lines := got.take()
		if len(lines) != 1 || !strings.HasSuffix(lines[0], " "+c.want) {
			t.Errorf("the server saw %s, want %s", lines, c.want)
		}
		w, err := wire.New(c.spec, targets.Local{Tables: tables})
		if err != nil {
			t.Fatal(err)
		}
		wire := string(w.Fill(nil, targets.Call{Number: c.n}))
		_, body, _ := strings.Cut(wire, "\r\n\r\n")
		if path := strings.Fields(wire)[1]; len(lines) == 1 && (!strings.Contains(lines[0], path) || !strings.HasSuffix(lines[0], fmt.Sprintf("%q", body))) {
			t.Errorf("%q differs from %s", wire, lines)
		}
		b := make([]byte, 0, 1000)
		if n := testing.AllocsPerRun(100, func() { b = w.Fill(b, targets.Call{Number: c.n}) }); n != 0 {
			t.Errorf("%v allocations", n)
		}
	}
}

// given returns a data file as a spec and a process have it.
func given(t *testing.T, name, content, pick string) (rows.Source, targets.Tables) {
	t.Helper()
	table, err := rows.Read(name+".csv", []byte(content))
	if err != nil {
		t.Fatal(err)
	}
	s := rows.Source{Name: name, Pick: pick, Columns: table.Columns(), Rows: table.Rows(), SHA256: table.SHA256(), Bytes: table.Bytes()}
	return s, targets.Tables{s.SHA256: table}
}
