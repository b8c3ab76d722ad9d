package redact

import "github.com/loadctl/loadctl/targets"

// Cells returns the function from the number of a slot to the cells of data files that are secrets and that its requests may
// have sent. spec is that of the whole run: flows that use a file get its rows in turn. Any number of goroutines may call
// the function.
func (r *Redactor) Cells(spec targets.Spec, tables targets.Tables) func(number uint64) []Cell {
	type column struct {
		name string
		cell func(number uint64) string
	}
	var columns []column
	mix := spec.Mix()
	for _, d := range spec.Data {
		table := tables[d.SHA256]
		if table == nil {
			continue
		}
		row := mix.Picker(d)
		for i, name := range d.Columns {
			if name = d.Name + "." + name; r.secret(name) {
				columns = append(columns, column{name, func(number uint64) string { return table.Cell(row(number), i) }})
			}
		}
	}
	return func(number uint64) []Cell {
		cells := make([]Cell, 0, len(columns))
		for _, c := range columns {
			cells = append(cells, Cell{Name: c.name, Value: c.cell(number)})
		}
		return cells
	}
}
