package render

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/loadctl/loadctl/internal/output/printable"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/threshold"
)

// The elements of a JUnit file, as CI servers read them.
type (
	junitSuites struct {
		XMLName  xml.Name   `xml:"testsuites"`
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Errors   int        `xml:"errors,attr"`
		Time     string     `xml:"time,attr"`
		Suite    junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name       string          `xml:"name,attr"`
		Tests      int             `xml:"tests,attr"`
		Failures   int             `xml:"failures,attr"`
		Errors     int             `xml:"errors,attr"`
		Skipped    int             `xml:"skipped,attr"`
		Time       string          `xml:"time,attr"`
		Timestamp  string          `xml:"timestamp,attr,omitempty"`
		Properties []junitProperty `xml:"properties>property"`
		Cases      []junitCase     `xml:"testcase"`
		Out        string          `xml:"system-out"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Time    string        `xml:"time,attr"`
		Failure *junitProblem `xml:"failure"`
		Error   *junitProblem `xml:"error"`
		Out     string        `xml:"system-out,omitempty"`
	}
	junitProblem struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",chardata"`
	}
)

// JUnit writes a test suite with a case for each check: failed is a failure, undecided an error. Its properties are the
// numbers of the JSON report; its output is the text report.
func JUnit(w io.Writer, r report.Report) error {
	var text bytes.Buffer
	if err := Text(&text, r); err != nil {
		return err
	}
	properties, err := figuresOf(r)
	if err != nil {
		return fmt.Errorf("write JUnit: %w", err)
	}
	length := strconv.FormatFloat(r.DurationS, 'f', 3, 64)
	suite := junitSuite{Name: printable.Line(r.Run), Time: length, Properties: properties, Out: text.String()}
	if !r.StartedAt.IsZero() {
		suite.Timestamp = r.StartedAt.Format("2006-01-02T15:04:05")
	}
	for _, c := range r.Checks() {
		suite.add(c)
	}
	all := junitSuites{Name: "loadctl", Tests: suite.Tests, Failures: suite.Failures, Errors: suite.Errors, Time: length, Suite: suite}
	data, err := xml.MarshalIndent(all, "", "  ")
	if err == nil {
		_, err = w.Write(append([]byte(xml.Header), append(data, '\n')...))
	}
	if err != nil {
		return fmt.Errorf("write JUnit: %w", err)
	}
	return nil
}

// add adds the case of a check.
func (s *junitSuite) add(c report.Check) {
	one := junitCase{Class: "loadctl." + s.Name, Name: printable.Line(c.Name), Time: "0"}
	text := printable.Line(c.Text)
	s.Tests++
	switch c.Result {
	case threshold.Failed:
		s.Failures++
		one.Failure = &junitProblem{Message: text, Type: threshold.Failed, Text: text}
	case threshold.Undecided:
		s.Errors++
		one.Error = &junitProblem{Message: text, Type: threshold.Undecided, Text: text}
	default:
		one.Out = text
	}
	s.Cases = append(s.Cases, one)
}

// figuresOf returns the single values of the JSON report, in order: audit.sent is the member sent of the object audit.
func figuresOf(r report.Report) ([]junitProperty, error) {
	data, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	return valuesOf("", data)
}

// valuesOf returns the value at a path, or those in an object there. It skips arrays.
func valuesOf(path string, value []byte) (all []junitProperty, err error) {
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	first, err := d.Token()
	if first == json.Delim('[') || err != nil {
		return nil, err
	}
	if first != json.Delim('{') {
		return []junitProperty{{Name: printable.Line(path), Value: printable.Line(fmt.Sprint(first))}}, nil
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		var member json.RawMessage
		if err := d.Decode(&member); err != nil {
			return nil, err
		}
		inner, err := valuesOf(strings.TrimPrefix(path+"."+fmt.Sprint(name), "."), member)
		if err != nil {
			return nil, err
		}
		all = append(all, inner...)
	}
	return all, nil
}
