package rows_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/targets/rows"
)

func read(t *testing.T, name, content string) *rows.Table {
	t.Helper()
	table, err := rows.Read(name, []byte(content))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestRead(t *testing.T) {
	for name, content := range map[string]string{
		"a.csv":    "name, id\n\"a, \"\"b\"\"\nc\",1\n,2\n",
		"a.CSV":    "\ufeffname,id\r\n\"a, \"\"b\"\"\nc\",1\r\n,2\r\n",
		"a.tsv":    "name\tid\n\"a, \"\"b\"\"\nc\"\t1\n\t2",
		"a.jsonl":  `{"name":"a, \"b\"\nc","id":1}` + "\n\n" + `{"id": 2, "more": [1], "name": null}` + "\n",
		"a.ndjson": `{"name":"a, \"b\"\nc","id":"1"}` + "\n" + `{"id":"2","name":""}`,
	} {
		table := read(t, name, content)
		if strings.Contains(name, "json") {
			if got := table.Columns(); !slices.Equal(got, []string{"id", "name"}) {
				t.Errorf("%s: %q", name, got)
			}
		} else if got := table.Columns(); !slices.Equal(got, []string{"name", "id"}) {
			t.Errorf("%s: %q", name, got)
		}
		source := rows.Source{Columns: table.Columns()}
		n, _ := source.Column("name")
		id, err := source.Column("id")
		if err != nil || table.Rows() != 2 || table.Cell(0, n) != "a, \"b\"\nc" || table.Cell(0, id) != "1" || table.Cell(1, n) != "" || table.Cell(1, id) != "2" {
			t.Errorf("%s: %+v %v", name, table, err)
		}
		if table.Bytes() != int64(len(content)) || len(table.SHA256()) != 64 {
			t.Errorf("%s: %d bytes, SHA-256 %s", name, table.Bytes(), table.SHA256())
		}
	}
	if got := read(t, "a.jsonl", `{"a": {"b": [1, true]}, "c": false, "d": 1e3}`); got.Cell(0, 0) != `{"b": [1, true]}` || got.Cell(0, 1) != "false" || got.Cell(0, 2) != "1e3" {
		t.Errorf("%+v", got)
	}
}

func TestReadErrors(t *testing.T) {
	for _, x := range []struct{ name, content, want string }{
		{"a.txt", "a\n1\n", "format is not known; give a file that ends in .csv"},
		{"a.csv", "", "is empty; its first line names the columns"},
		{"a.csv", "a,b\n", "has no rows"},
		{"a.csv", "a,b\n1,2\n3\n", "line 3: its number of cells is 1, and the first line names 2"},
		{"a.csv", "a,b\n1,2\n\"3,4\n", "line 3"},
		{"a.csv", "a,b\n1,x\"y\n", `line 2, column 4`},
		{"a.csv", "a,a\n1,2\n", "two columns have the same name"},
		{"a.csv", "a\n\xff\n", "is not UTF-8"},
		{"a.csv", strings.Repeat("a,", 1000) + "b\n", "more than 1000 columns"},
		{"a.jsonl", "", "is empty; give it one JSON object a line"},
		{"a.jsonl", "{}", "line 1: is no JSON object with values"},
		{"a.jsonl", "{\"a\":1}\n[1]", "line 2: is no JSON object"},
		{"a.jsonl", "{\"a\":1}\n{\"b\":1}", `line 2: has no "a"`},
	} {
		if _, err := rows.Read(x.name, []byte(x.content)); err == nil || !strings.Contains(err.Error(), x.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s %q: %v, want %q", x.name, x.content, err, x.want)
		}
	}
}

func TestSource(t *testing.T) {
	good := rows.Source{Name: "users", Columns: []string{"name", "the id"}, Rows: 3, Pick: rows.Once}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	if _, err := good.Column("nam"); err == nil || !strings.Contains(err.Error(), "use one of ${users.name}") || strings.Contains(err.Error(), "the id") {
		t.Error(err)
	}
	for _, change := range []func(*rows.Source){
		func(s *rows.Source) { s.Name = "a.b" },
		func(s *rows.Source) { s.Name = "" },
		func(s *rows.Source) { s.Pick = "any" },
		func(s *rows.Source) { s.Rows = 0 },
		func(s *rows.Source) { s.Columns = nil },
	} {
		bad := good
		if change(&bad); bad.Validate() == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}

// TestPicker: once, cycle and shuffle give each row once in a pass. Shuffle gives another order at each pass, for each
// seed, and for each name.
func TestPicker(t *testing.T) {
	for _, pick := range []string{rows.Once, rows.Cycle, rows.Shuffle} {
		for _, n := range []int64{1, 2, 3, 4, 5, 16, 17, 1000, 4097} {
			s := rows.Source{Rows: n, Pick: pick, Seed: 1}
			pickRow := s.Picker()
			for pass := range int64(3) {
				seen := make([]bool, n)
				for i := range n {
					row := pickRow(uint64(pass*n + i))
					if row < 0 || row >= n || seen[row] {
						t.Fatalf("%s of %d: request %d of pass %d gets row %d", pick, n, i, pass, row)
					}
					seen[row] = true
					if pick != rows.Shuffle && row != i {
						t.Fatalf("%s of %d: request %d gets row %d", pick, n, i, row)
					}
				}
			}
		}
	}
	s := rows.Source{Rows: 1000, Pick: rows.Shuffle, Seed: 1}
	seeded, named := s, s
	seeded.Seed, named.Name = 99, "items"
	same, first, second, third := [4]int{}, s.Picker(), seeded.Picker(), named.Picker()
	for i := range uint64(1000) {
		for k, row := range []int64{int64(i), first(1000 + i), second(i), third(i)} {
			if first(i) == row {
				same[k]++
			}
		}
	}
	for k, n := range same { // about one, as of any two orders
		if n > 8 {
			t.Errorf("%d of 1000 rows are where they are in order %d", n, k)
		}
	}
}

// TestRandomIsEven: chi-squared over 100 rows.
func TestRandomIsEven(t *testing.T) {
	const n, each = 100, 1000
	s := rows.Source{Rows: n, Pick: rows.Random, Seed: 7}
	var seen [n]float64
	pick := s.Picker()
	for i := range uint64(n * each) {
		seen[pick(i)]++
	}
	sum := 0.0
	for _, k := range seen {
		sum += (k - each) * (k - each) / each
	}
	if limit := n - 1 + 5*math.Sqrt(2*(n-1)); sum > limit {
		t.Errorf("chi-squared %.0f, at most %.0f", sum, limit)
	}
}

func TestPickerAllocatesNothing(t *testing.T) {
	table := read(t, "a.csv", "a,b\n1,2\n3,4\n")
	for _, pick := range rows.Picks() {
		row, i := rows.Source{Rows: 2, Pick: pick}.Picker(), uint64(0)
		if n := testing.AllocsPerRun(100, func() { i++; _ = table.Cell(row(i), 1) }); n != 0 {
			t.Errorf("%s: %v allocations", pick, n)
		}
	}
}

// FuzzRead: whatever is in a file, all cells can be read, or an error is one line.
func FuzzRead(f *testing.F) {
	for _, s := range []string{"a,b\n1,2\n", "\"a\nb\",c\n1,2", "{\"a\":1}\n{\"a\":null}", "", ",\n,", "{\"a\":"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, content string) {
		for _, name := range []string{"x.csv", "x.tsv", "x.jsonl"} {
			table, err := rows.Read(name, []byte(content))
			if err != nil {
				if strings.Contains(err.Error(), "\n") {
					t.Errorf("%q", err)
				}
				continue
			}
			size := 0
			for row := range table.Rows() {
				for column := range table.Columns() {
					size += len(table.Cell(row, column))
				}
			}
			if size > 6*len(content) {
				t.Errorf("%s: %d bytes of cells", fmt.Sprintf("%.20q", content), size)
			}
		}
	})
}
