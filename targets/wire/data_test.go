package wire

import (
	"slices"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/rows"
)

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

// TestWrongData: a run whose data do not fit is not created.
func TestWrongData(t *testing.T) {
	users, tables := given(t, "users", "name,two words\na,1\n\"b\nc\",2\n", rows.Cycle)
	other := users
	other.Name = "other"
	for want, s := range map[string]targets.Spec{
		"url: ${people.name}: no data file has this name; there is users":                      {URL: "http://a/${people.name}", Data: []rows.Source{users}},
		"url: ${people.name}: no data file has this name; there is users or other":             {URL: "http://a/${people.name}", Data: []rows.Source{users, other}},
		"url: ${users.name}: there is no data file; give one, as in --data FILE.csv,name=NAME": {URL: "http://a/${users.name}"},
		"body: ${users.nam}: the file has no such column; use one of ${users.name}":            {URL: "http://a/${users.name}", Body: []byte("${users.nam}"), Data: []rows.Source{users}},
		"data: no placeholder uses other; write":                                               {URL: "http://a/${users.name}", Body: []byte("\xff${other.name}$${other.x}"), Data: []rows.Source{users, other}},
		"data: no placeholder uses users; write ${users.name} in URL, header or body":          {URL: "http://a/", Data: []rows.Source{users}},
		"data: two files are called users":                                                     {URL: "http://a/${users.name}", Data: []rows.Source{users, users}},
		"header X: ${users.name}: row 2 of the file has a line break or a control":             {URL: "http://a/", Headers: []targets.Header{{Name: "X", Value: "${users.name}"}}, Data: []rows.Source{users}},
		"data: \"a b\" cannot be a name":                                                       {URL: "http://a/", Data: []rows.Source{{Name: "a b"}}},
		"data: the rows of other are missing":                                                  {URL: "http://a/${other.name}", Data: []rows.Source{{Name: "other", Columns: []string{"name"}, Rows: 1, Pick: rows.Once}}},
	} {
		if err := ValidateWith(s, tables); err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := New(targets.Spec{URL: "http://a/${users.name}", Data: []rows.Source{users}}, targets.Local{}); err == nil || !strings.HasSuffix(err.Error(), "data: the rows of users are missing; put them in Local.Tables") {
		t.Error(err)
	}
}

// TestNumbered: whether requests depend on their number, and how many rows there are for one request each.
func TestNumbered(t *testing.T) {
	users, _ := given(t, "users", "name\na\nb\n", rows.Once)
	more, _ := given(t, "more", "name\na\nb\nc\n", rows.Once)
	random := more
	random.Pick = rows.Random
	all := []targets.Spec{{URL: "http://a/$${ordinal}"}, {URL: "http://a/${\tordinal }"}, {Headers: []targets.Header{{Name: "A", Value: "${ordinal}"}}}, {Data: []rows.Source{more, users}}, {Data: []rows.Source{random}}}
	var numbered []bool
	var once []int64
	for _, s := range all {
		numbered, once = append(numbered, s.Numbered()), append(once, s.Once())
	}
	if !slices.Equal(numbered, []bool{false, true, true, true, false}) || !slices.Equal(once, []int64{0, 0, 0, 2, 0}) {
		t.Error(numbered, once)
	}
}

// TestRowOfASession: where the session of a flow has a row, the cells are those of that row, and ${ordinal} stays the number.
func TestRowOfASession(t *testing.T) {
	users, tables := given(t, "users", "name\nAnn\nBo\nCy\n", rows.Cycle)
	w, err := New(targets.Spec{URL: "http://a/${users.name}/${ordinal}", Data: []rows.Source{users}}, targets.Local{Tables: tables})
	if err != nil {
		t.Fatal(err)
	}
	session := new(targets.Session)
	session.SetRow(2)
	for want, c := range map[string]targets.Call{"GET /Bo/7 ": {Number: 7}, "GET /Cy/7 ": {Number: 7, Session: session}, "GET /Ann/0 ": {Session: new(targets.Session)}} {
		if got := string(w.Steps()[0].Fill(nil, c)); !strings.HasPrefix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if session.Reset(); (targets.Call{Number: 7, Session: session}).Row() != 7 {
		t.Error("a session that was reset has a row")
	}
}
