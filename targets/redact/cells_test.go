package redact_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/redact"
	"github.com/loadctl/loadctl/targets/rows"
	"github.com/loadctl/loadctl/targets/wire"
)

// TestCells: of each slot the cells are known that its request has sent, in whichever order flows use the file, and though a
// cell of the column fits into no header.
func TestCells(t *testing.T) {
	content := "name,password,city\n"
	for i := range 7 {
		content += fmt.Sprintf("user%d,\"pw-%d\nof user\",town%d\n", i, i, i)
	}
	table, err := rows.Read("users.csv", []byte(content))
	if err != nil {
		t.Fatal(err)
	}
	tables := targets.Tables{table.SHA256(): table}
	login := targets.Flow{Name: "login", Weight: 2, Steps: []targets.Step{{Name: "login", URL: "http://a/", Body: []byte("${users.password} ${users.city} ${users.name}")}}}
	browse := targets.Flow{Name: "browse", Weight: 3, Steps: []targets.Step{{Name: "browse", URL: "http://a/"}}}
	for _, pick := range []string{rows.Cycle, rows.Shuffle, rows.Random} {
		spec := targets.Spec{Flows: []targets.Flow{login, browse}, Data: []rows.Source{{
			Name: "users", Pick: pick, Columns: table.Columns(), Rows: table.Rows(), SHA256: table.SHA256(), Bytes: table.Bytes(),
		}}}
		w, err := wire.New(spec, targets.Local{Tables: tables})
		if err != nil {
			t.Fatal(err)
		}
		mix, cells := spec.Mix(), redact.New(spec, []string{"CITY"}).Cells(spec, tables)
		for number := range uint64(40) {
			if mix.Step(number) != 0 {
				continue
			}
			_, body, _ := bytes.Cut(w.Steps()[0].Fill(nil, targets.Call{Number: number}), []byte("\r\n\r\n"))
			var names, values []string
			for _, c := range cells(number) {
				names, values = append(names, c.Name), append(values, c.Value)
			}
			if !slices.Equal(names, []string{"users.password", "users.city"}) || !strings.HasPrefix(string(body), strings.Join(values, " ")+" user") {
				t.Errorf("%s, slot %d: %q are secrets, %q was sent", pick, number, values, body)
			}
		}
	}
}
