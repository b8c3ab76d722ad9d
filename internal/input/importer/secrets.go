package importer

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/rows"
)

// secretsName is the name of the data file that has the secrets of requests, and begins their placeholders.
const secretsName = "secrets"

// secrets are values of parameters and fields whose names tell of a secret. A data file has them, which is not written.
type secrets struct {
	columns []string
	of      map[string]string // the column of a value
}

func newSecrets() *secrets { return &secrets{of: map[string]string{}} }

// placeholder returns what a request has in place of a secret. Equal values have one column.
func (s *secrets) placeholder(name, value string) (string, bool) {
	if !targets.SecretName(name) {
		return "", false
	}
	column, ok := s.of[value]
	if !ok {
		column = variable(name, func(name string) bool { return !slices.Contains(s.columns, name) })
		s.columns = append(s.columns, column)
		s.of[value] = column
	}
	return "${" + secretsName + "." + column + "}", true
}

// data describes the data file, if a step has a secret.
func (f *file) data() []rows.Source {
	begin := "${" + secretsName + "."
	used := func(s step) bool { return strings.Contains(s.URL, begin) || bytes.Contains(s.Body, []byte(begin)) }
	if !slices.ContainsFunc(f.flows, func(one flow) bool { return slices.ContainsFunc(one.steps, used) }) {
		return nil
	}
	return f.secrets.data()
}

// data describes the data file; nil = there is no secret.
func (s *secrets) data() []rows.Source {
	if s == nil || len(s.columns) == 0 {
		return nil
	}
	return []rows.Source{{Name: secretsName, Columns: s.columns, Rows: 1, Pick: rows.Cycle}}
}

// notes say how to give the secrets.
func (s *secrets) notes() []string {
	return []string{
		fmt.Sprintf("Secrets are not in this file. Write %s.csv beside it, with this line and a line of their values below it:", secretsName),
		"    " + strings.Join(s.columns, ","),
	}
}
