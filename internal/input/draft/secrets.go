package draft

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/rows"
)

// secretsName is the name of the data file that has the secrets of requests, and begins their placeholders.
const secretsName = "secrets"

// Secrets are values of parameters and fields whose names tell of a secret. A data file has them, which is not written.
type Secrets struct {
	columns  []string
	columnOf map[string]string // the column of a value
}

// NewSecrets returns secrets that have none yet.
func NewSecrets() *Secrets { return &Secrets{columnOf: map[string]string{}} }

// placeholder returns what a request has in place of a secret. Equal values have one column.
func (s *Secrets) placeholder(name, value string) (string, bool) {
	if !targets.SecretName(name) {
		return "", false
	}
	column, ok := s.columnOf[value]
	if !ok {
		column = Variable(name, func(name string) bool { return !slices.Contains(s.columns, name) })
		s.columns = append(s.columns, column)
		s.columnOf[value] = column
	}
	return "${" + secretsName + "." + column + "}", true
}

// Data describes the data file, if a step has a secret.
func (f *File) Data() []rows.Source {
	begin := "${" + secretsName + "."
	used := func(s Step) bool { return strings.Contains(s.URL, begin) || bytes.Contains(s.Body, []byte(begin)) }
	if !slices.ContainsFunc(f.Flows, func(one Flow) bool { return slices.ContainsFunc(one.Steps, used) }) {
		return nil
	}
	return f.Secrets.data()
}

// data describes the data file; nil = there is no secret.
func (s *Secrets) data() []rows.Source {
	if s == nil || len(s.columns) == 0 {
		return nil
	}
	return []rows.Source{{Name: secretsName, Columns: s.columns, Rows: 1, Pick: rows.Cycle}}
}

// notes say how to give the secrets.
func (s *Secrets) notes() []string {
	return []string{
		fmt.Sprintf("Secrets are not in this file. Write %s.csv beside it, with this line and a line of their values below it:", secretsName),
		"    " + strings.Join(s.columns, ","),
	}
}

// unnamed matches what the name of a variable cannot have.
var unnamed = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// Variable returns a name for placeholders that is free, and resembles another name.
func Variable(like string, free func(name string) bool) string {
	like = strings.Trim(unnamed.ReplaceAllString(like, "_"), "_-")
	like = like[:min(len(like), 50)]
	if !rows.IsName(like) {
		like = "value_" + like
	}
	name := like
	for n := 2; !free(name); n++ {
		name = like + strconv.Itoa(n)
	}
	return name
}
