package targets

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/loadctl/loadctl/targets/formula"
	"github.com/loadctl/loadctl/targets/program"
	"github.com/loadctl/loadctl/targets/rows"
	"github.com/loadctl/loadctl/targets/template"
)

// Tables are the data files that this process has read, by their SHA-256.
type Tables map[string]*rows.Table

// ExampleCell stands for a cell whose table is not there. It fits in a JSON text, inside a string and outside.
const ExampleCell = "0"

// A Parser makes a Text of a string from a spec.
type Parser func(s string, salt uint64) (template.Text, error)

// The salts of the texts of a request: see template.Options.
const (
	SaltURL = iota
	SaltBody
	SaltHeaders // and one more for each header
)

// URLStandIn stands for each placeholder while a URL is parsed. Nothing of it is escaped in a URL.
const URLStandIn = "-0placeholder0-"

// StandIn stands for a value that is not known yet.
func StandIn(name string) string { return "<" + name + ">" }

// Parser returns the parser of the texts of s. A body that is no text has no placeholders. Without the table of a data
// file its cells are examples.
func (s Spec) Parser(tables Tables) Parser {
	return func(text string, salt uint64) (template.Text, error) {
		if salt == SaltBody && !utf8.ValidString(text) {
			return template.Literal(text), nil
		}
		column := func(name string) (func(uint64) string, error) { return s.column(tables, name, salt >= SaltHeaders) }
		return template.Parse(text, template.Options{Salt: salt, Column: column, Escape: s.escape(salt), Taken: s.earlier})
	}
}

// CheckColumn checks that a data file has the column SOURCE.COLUMN, for a caller that knows where the name was written.
func (s Spec) CheckColumn(name string) error {
	if _, err := s.column(nil, name, false); err != nil {
		return fmt.Errorf("${%.60s}: %w", name, err)
	}
	return nil
}

// Masked returns the spec for a reader: cells of columns whose names suggest a secret are stand-ins.
func (s Spec) Masked() Spec {
	s.masked = true
	return s
}

// column returns the cells of the column SOURCE.COLUMN by the number of the request.
func (s Spec) column(tables Tables, name string, header bool) (func(number uint64) string, error) {
	from, column, _ := strings.Cut(name, ".")
	i := slices.IndexFunc(s.Data, func(d rows.Source) bool { return d.Name == from })
	if i < 0 {
		return nil, s.noSource()
	}
	n, err := s.Data[i].Column(column)
	if err != nil {
		return nil, err
	}
	table := tables[s.Data[i].SHA256]
	switch {
	case s.masked && SecretName(column):
		return func(uint64) string { return StandIn(name) }, nil
	case table == nil:
		return func(uint64) string { return ExampleCell }, nil
	}
	if header {
		err = fitsHeader(table, n)
	}
	row := s.mix.Picker(s.Data[i])
	return func(number uint64) string { return table.Cell(row(number), n) }, err
}

// Picker returns the function from the number of a slot to the row that it has of a data file. Flows that use the file get
// its rows in turn. The mix may be nil: then there are no flows.
func (m *Mix) Picker(d rows.Source) func(number uint64) int64 {
	row := d.Picker()
	if m == nil {
		return row
	}
	return func(number uint64) int64 { return row(m.turn(d.Name, number)) }
}

// DataOf returns the data files that a flow uses; all of them if there are no flows.
func (s Spec) DataOf(flow int) []rows.Source {
	if len(s.Flows) == 0 {
		return s.Data
	}
	one := Spec{Data: s.Data, Flows: s.Flows[flow : flow+1]}
	unused := one.UnusedData()
	return slices.DeleteFunc(slices.Clone(s.Data), func(d rows.Source) bool { return slices.Contains(unused, d.Name) })
}

// noSource is the error that a placeholder names no data file.
func (s Spec) noSource() error {
	const literally = "; for the characters ${ write $${"
	if len(s.Data) == 0 {
		return errors.New("there is no data file; give one, as in --data FILE.csv,name=NAME" + literally)
	}
	var known []string
	for _, d := range s.Data {
		known = append(known, d.Name)
	}
	return errors.New("no data file has this name; there is " + listed(known) + literally)
}

// fitsHeader returns an error if a column has a cell that a header cannot hold.
func fitsHeader(table *rows.Table, column int) error {
	if table.Plain() { // nearly all files: a long one is not read again for each step
		return nil
	}
	for row := range table.Rows() {
		if strings.ContainsFunc(table.Cell(row, column), isControl) {
			return fmt.Errorf("row %d of the file has a line break or a control character there, which a header cannot hold", row+1)
		}
	}
	return nil
}

// checkData checks the descriptions of data files, and that each is used.
func (s Spec) checkData() error {
	unused := s.UnusedData()
	for i, d := range s.Data {
		if err := d.Validate(); err != nil {
			return fmt.Errorf("data: %w", err)
		}
		if slices.ContainsFunc(s.Data[:i], func(other rows.Source) bool { return other.Name == d.Name }) {
			return fmt.Errorf("data: two files are called %s; give one another name, as in --data FILE,name=NAME", d.Name)
		}
		if slices.Contains(unused, d.Name) {
			return fmt.Errorf("data: no placeholder uses %s; write ${%s.%s} in URL, header or body, or leave the file out", d.Name, d.Name, d.Columns[0])
		}
	}
	return nil
}

// UnusedData returns the names of the data files that no placeholder uses.
func (s Spec) UnusedData() (unused []string) {
	names := s.placeholders()
	for _, d := range s.Data {
		if !slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, d.Name+".") }) {
			unused = append(unused, d.Name)
		}
	}
	return unused
}

// placeholders returns the names of all placeholders. Those of a text with a wrong one are missing.
func (s Spec) placeholders() (names []string) {
	for _, f := range s.Flows {
		known := f.Known()
		for i, step := range f.Steps {
			names = append(names, s.Single(step, nil, known[i]).placeholders()...)
		}
		for _, text := range program.Expressions(f.Body) {
			for _, v := range formula.Variables(text) {
				names = append(names, v.Name)
			}
		}
	}
	parse := s.Parser(nil)
	add := func(text string, salt uint64) {
		if t, err := parse(text, salt); err == nil {
			names = append(names, t.Names()...)
		}
	}
	add(s.URL, SaltURL)
	add(string(s.Body), SaltBody)
	for i, h := range s.Headers {
		add(h.Value, SaltHeaders+uint64(i))
	}
	return names
}

// CheckTables returns an error if the rows of a data file are not there.
func (s Spec) CheckTables(tables Tables) error {
	for _, d := range s.Data {
		if t := tables[d.SHA256]; t == nil || t.Rows() != d.Rows || !slices.Equal(t.Columns(), d.Columns) {
			return fmt.Errorf("data: the rows of %s are missing; put them in Local.Tables", d.Name)
		}
	}
	return nil
}

// Numbered reports whether requests depend on their number: then no two of a run should have the same.
func (s Spec) Numbered() bool {
	inTurn := func(d rows.Source) bool { return d.Pick != rows.Random }
	return slices.ContainsFunc(s.Data, inTurn) || slices.Contains(s.placeholders(), "ordinal") || s.Traced()
}

// Traced reports whether requests carry their trace id: in a header, or where a placeholder stands.
func (s Spec) Traced() bool {
	of := func(name string) bool { return name == "trace_id" || name == "span_id" }
	return s.Trace || slices.ContainsFunc(s.placeholders(), of)
}

// Once returns how many requests can be sent until a data file has no row left; 0 = there is always one.
func (s Spec) Once() (requests int64) {
	var mix *Mix
	for _, d := range s.Data {
		if d.Pick != rows.Once {
			continue
		}
		if mix == nil {
			mix = s.Mix()
		}
		n := d.Rows
		if mix != nil {
			n = mix.until(d.Name, n)
		}
		if requests == 0 || n < requests {
			requests = n
		}
	}
	return requests
}

// ExampleBody returns the body as it may be sent: with its placeholders filled. A body with a wrong placeholder is
// returned as it is: wire.Validate refuses it.
func (s Spec) ExampleBody() []byte {
	text, err := s.Parser(nil)(string(s.Body), SaltBody)
	if err != nil {
		return s.Body
	}
	return text.Append(nil, template.Request{})
}
