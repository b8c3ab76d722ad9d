package rows

import (
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// Bounds of a file.
const (
	maxRows    = 1 << 31
	maxColumns = 1000
	maxText    = math.MaxUint32 // bytes of all cells
)

// A Table holds the rows of a data file. It never changes, so any number of goroutines may use it.
type Table struct {
	columns []string
	text    string   // all cells, one after the other
	ends    []uint32 // of each cell in text, row by row
	sha     string
	bytes   int64
	plain   bool // no cell has a control character but a tab
}

// Plain reports whether no cell has a control character but a tab.
func (t *Table) Plain() bool { return t.plain }

// Read reads a data file. Its name says in which format: .csv (RFC 4180) and .tsv begin with a line of column names;
// .jsonl and .ndjson have an object a line, all with the same names. An error is one line. It names the line of the
// file, and quotes nothing of it but the name of a column.
func Read(name string, content []byte) (*Table, error) {
	t := &Table{bytes: int64(len(content))}
	sum := sha256.Sum256(content)
	t.sha = hex.EncodeToString(sum[:])
	content = bytes.TrimPrefix(content, []byte("\ufeff")) // as spreadsheets write it
	if !utf8.Valid(content) {
		return nil, errors.New("is not UTF-8 text; save it as UTF-8")
	}
	var err error
	switch extension := strings.ToLower(filepath.Ext(name)); extension {
	case ".csv":
		err = t.readCSV(content, ',')
	case ".tsv":
		err = t.readCSV(content, '\t')
	case ".jsonl", ".ndjson":
		err = t.readJSON(content)
	default:
		err = errors.New("its format is not known; give a file that ends in .csv, .tsv, .jsonl or .ndjson")
	}
	if err != nil {
		return nil, err
	}
	if len(t.ends) == 0 {
		return nil, errors.New("has no rows; put one below the line of column names")
	}
	t.plain = !strings.ContainsFunc(t.text, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
	return t, nil
}

// Columns returns the names of the columns.
func (t *Table) Columns() []string { return t.columns }

// Rows returns the number of rows, at least 1.
func (t *Table) Rows() int64 { return int64(len(t.ends) / len(t.columns)) }

// SHA256 returns that of the file, in hexadecimal digits.
func (t *Table) SHA256() string { return t.sha }

// Bytes returns the size of the file.
func (t *Table) Bytes() int64 { return t.bytes }

// Cell returns the text in a row and a column, both counted from 0.
func (t *Table) Cell(row int64, column int) string {
	i, from := row*int64(len(t.columns))+int64(column), uint32(0)
	if i > 0 {
		from = t.ends[i-1]
	}
	return t.text[from:t.ends[i]]
}

// name sets the names of the columns.
func (t *Table) name(columns []string) error {
	if len(columns) > maxColumns {
		return fmt.Errorf("has more than %d columns", maxColumns)
	}
	seen := map[string]bool{}
	for _, c := range columns {
		if seen[c] {
			return errors.New("line 1: two columns have the same name; rename one")
		}
		seen[c] = true
	}
	t.columns = slices.Clone(columns)
	return nil
}

// builder collects the cells of a Table.
type builder struct {
	*Table
	strings.Builder
}

// add adds a cell.
func (b *builder) add(cell string) error {
	b.WriteString(cell)
	if int64(b.Len()) > maxText || int64(len(b.ends)) >= maxRows {
		return errors.New("is too large: at most 4 GiB of text and two billion cells; divide it")
	}
	b.ends = append(b.ends, uint32(b.Len()))
	return nil
}

func (t *Table) readCSV(content []byte, comma rune) error {
	r := csv.NewReader(bytes.NewReader(content))
	r.Comma, r.ReuseRecord = comma, true
	b := builder{Table: t}
	for {
		record, err := r.Read()
		var wrong *csv.ParseError
		switch {
		case errors.Is(err, io.EOF) && t.columns == nil:
			return errors.New("is empty; its first line names the columns")
		case errors.Is(err, io.EOF):
			t.text = b.String()
			return nil
		case errors.Is(err, csv.ErrFieldCount):
			line, _ := r.FieldPos(0)
			return fmt.Errorf("line %d: its number of cells is %d, and the first line names %d columns; cells with a comma or a line break need quotes", line, len(record), len(t.columns))
		case errors.As(err, &wrong):
			return fmt.Errorf("line %d, column %d: %w; write \" in a quoted cell as \"\"", wrong.Line, wrong.Column, wrong.Err)
		case err != nil:
			return err
		case t.columns == nil:
			for i := range record {
				record[i] = strings.TrimSpace(record[i])
			}
			if err := t.name(record); err != nil {
				return err
			}
			continue
		}
		for _, cell := range record {
			if err := b.add(cell); err != nil {
				return err
			}
		}
	}
}

func (t *Table) readJSON(content []byte) error {
	b, number := builder{Table: t}, 0
	for line := range bytes.Lines(content) {
		number++
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		var row map[string]json.RawMessage
		if err := json.Unmarshal(line, &row); err != nil || len(row) == 0 {
			return fmt.Errorf("line %d: is no JSON object with values; write {\"NAME\": VALUE, …} in one line", number)
		}
		if t.columns == nil {
			var columns []string
			for c := range row {
				columns = append(columns, c)
			}
			slices.Sort(columns)
			if err := t.name(columns); err != nil {
				return err
			}
		}
		for _, c := range t.columns {
			value, there := row[c]
			if !there {
				return fmt.Errorf("line %d: has no %.40q, and the first line has; give each line all names, null for an empty text", number, c)
			}
			if err := b.add(cell(value)); err != nil {
				return err
			}
		}
	}
	if t.columns == nil {
		return errors.New("is empty; give it one JSON object a line")
	}
	t.text = b.String()
	return nil
}

// cell returns the text of a JSON value: that of a string, nothing for null, else the value as it stands.
func cell(value json.RawMessage) string {
	var text *string
	if err := json.Unmarshal(value, &text); err != nil {
		return string(value)
	}
	if text == nil {
		return ""
	}
	return *text
}
