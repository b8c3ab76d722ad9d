package pacer

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loadctl/loadctl/pacer/accesslog"
)

// row says which rate holds from a time on, until the next row. The rate of the last one does not matter: it is where
// the file ends.
type row struct {
	at   int64 // µs
	rate int64 // millionths of a request per second
	line int   // of the file; 0 = none says it
}

// lines reads the lines of a file that are not empty.
type lines struct {
	file string
	head string // the beginning of the file
	in   *bufio.Scanner
	line int // the number of the last one
}

// maxLine is the longest line in bytes. A file without line breaks is not read to its end.
const maxLine = 64 << 10

func newLines(file string, content io.Reader) *lines {
	buffered := bufio.NewReaderSize(content, maxLine)
	head, _ := buffered.Peek(maxLine) // next finds the error too
	l := &lines{file: file, head: strings.TrimLeft(string(head), "\r\n"), in: bufio.NewScanner(buffered)}
	l.in.Buffer(nil, maxLine)
	return l
}

// next returns the next line; io.EOF at the end.
func (l *lines) next() (string, error) {
	for l.in.Scan() {
		l.line++
		text := l.in.Text()
		if l.line == 1 {
			text = strings.TrimPrefix(text, "\ufeff")
			if strings.HasPrefix(text, "\x1f\x8b") {
				return "", l.errorf(1, "the file is compressed; unpack it first, as with gunzip")
			}
		}
		if strings.ContainsRune(text, 0) {
			return "", l.errorf(l.line, "this is no text; give a CSV file or an access log, in UTF-8")
		}
		if strings.TrimSpace(text) != "" {
			return text, nil
		}
	}
	switch err := l.in.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return "", l.errorf(l.line+1, "the line has more than %d bytes; give a CSV file or an access log", maxLine)
	case err != nil:
		return "", unreadable(l.file, err)
	}
	return "", io.EOF
}

// errorf returns an error about a line; 0 is about the whole file.
func (l *lines) errorf(line int, format string, args ...any) error {
	at := fmt.Sprintf("%.200s", l.file)
	if line > 0 {
		at += ":" + strconv.Itoa(line)
	}
	return fmt.Errorf("%s: %w", at, fmt.Errorf(format, args...))
}

// unknown is the error about a first line that begins neither of the files that can be read.
func (l *lines) unknown(first string) error {
	return l.errorf(l.line, "%q is neither a header with the column time nor a line of an access log; "+
		"begin a CSV file with a header such as time,rate, or give an access log: one of %s", shown(first), accesslog.Names())
}

// shown is the beginning of a line, for an error: logs have long ones.
func shown(line string) string {
	const most = 60 // bytes
	if len(line) <= most {
		return line
	}
	return strings.ToValidUTF8(line[:most], "") + "…"
}

// readRows reads a CSV file or an access log: the first line shows which it is.
func readRows(in *lines, column string) ([]row, error) {
	first, err := in.next()
	switch {
	case err == io.EOF: //nolint:errorlint // next returns it bare
		return nil, in.errorf(0, "the file is empty; give a CSV file with the columns time and rate, or an access log")
	case err != nil:
		return nil, err
	}
	format, other := accesslog.Of(in.head)
	switch {
	case format != nil && column != "":
		return nil, in.errorf(0, "column= is for CSV files, and this is an access log; leave it out")
	case format != nil:
		return readLog(in, first, *format)
	case other != "":
		return nil, in.errorf(0, "%w", accesslog.Unread(other))
	}
	return readCSV(in, first, column)
}

// readLog counts the requests of each second of an access log with this first line. Lines may be in any order.
func readLog(in *lines, text string, format accesslog.Format) ([]row, error) {
	seconds := map[int64]row{}
	for read := format.Open(); ; {
		r, ok := read(text)
		switch {
		case !ok:
			return nil, in.errorf(in.line, "%q %s; remove the line", shown(text), format.Wrong())
		case r.Timed:
			second := seconds[r.At]
			second.rate += remainderUnit
			if second.line == 0 {
				second.line = in.line
			}
			seconds[r.At] = second
		}
		var err error
		text, err = in.next()
		if err == io.EOF { //nolint:errorlint // next returns it bare
			break
		}
		if err != nil {
			return nil, err
		}
	}
	if len(seconds) == 0 {
		return nil, in.errorf(0, "the log has no request; give one that has some")
	}
	var rows []row
	for _, t := range slices.Sorted(maps.Keys(seconds)) {
		second, at := seconds[t], t*remainderUnit
		if n := len(rows); n > 0 && rows[n-1].at == at { // the end of the second before
			rows = rows[:n-1]
		}
		rows = append(rows, row{at, second.rate, second.line}, row{at: at + remainderUnit})
	}
	return rows, nil
}

// readCSV reads what follows the header of a CSV file.
func readCSV(in *lines, header, column string) ([]row, error) {
	names, err := cells(header)
	if err != nil { // quotes as in no CSV file
		return nil, in.unknown(header)
	}
	rate := "rate"
	if column != "" {
		rate = column
	}
	timeAt, rateAt := slices.Index(names, "time"), slices.Index(names, rate)
	switch {
	case timeAt < 0:
		return nil, in.unknown(header)
	case rateAt < 0:
		return nil, in.errorf(in.line, "there is no column %q; name that of the rate with column=NAME, one of %.100s", clip(rate), strings.Join(names, ", "))
	}
	var rows []row
	for {
		text, err := in.next()
		if err == io.EOF { //nolint:errorlint // next returns it bare
			return closed(in, rows)
		}
		if err != nil {
			return nil, err
		}
		values, err := cells(text)
		if err == nil && len(values) != len(names) {
			err = fmt.Errorf("%d cells, and the header has %d; give each row as many", len(values), len(names))
		}
		var r row
		if err == nil {
			r, err = readRow(values[timeAt], values[rateAt])
		}
		if n := len(rows); err == nil && n > 0 && r.at <= rows[n-1].at {
			err = fmt.Errorf("the time %s is not after that of line %d; sort the rows by time, each time once", clip(values[timeAt]), rows[n-1].line)
		}
		if err != nil {
			return nil, in.errorf(in.line, "%w", err)
		}
		r.line = in.line
		rows = append(rows, r)
	}
}

// closed adds the end: the last row of a CSV file takes as long as the row before it.
func closed(in *lines, rows []row) ([]row, error) {
	n := len(rows)
	if n < 2 {
		return nil, in.errorf(in.line, "a replay needs two rows at least, as the next row says how long a rate holds; add a row")
	}
	last := rows[n-1].at
	return append(rows, row{at: last + last - rows[n-2].at, line: rows[n-1].line}), nil
}

// cells splits a line of a CSV file.
func cells(line string) ([]string, error) {
	all := strings.Split(line, ",")
	if strings.Contains(line, `"`) {
		var err error
		if all, err = csv.NewReader(strings.NewReader(line)).Read(); err != nil {
			return nil, fmt.Errorf("%w; put cells with quotes and commas in double quotes", errors.Unwrap(err))
		}
	}
	for i, cell := range all {
		all[i] = strings.TrimSpace(cell)
	}
	return all, nil
}

// readRow reads a time and a rate.
func readRow(at, rate string) (row, error) {
	t, err := readTime(at)
	if err != nil {
		return row{}, err
	}
	r, err := millionths(rate)
	switch {
	case err != nil:
		return row{}, fmt.Errorf("the rate %q is no number; give requests per second, such as 12.5", clip(rate))
	case r < 0:
		return row{}, fmt.Errorf("the rate %s is negative; give 0 or more requests per second", clip(rate))
	case r > maxRate*remainderUnit:
		return row{}, fmt.Errorf("the rate %s is too high; give at most %d requests per second", clip(rate), maxRate)
	}
	return row{at: t, rate: r}, nil
}

// latest bounds times that are numbers, in seconds: Unix times until 2106, in which µs are exact as floats.
const latest = 1 << 32

// readTime reads a number of seconds, or a time of RFC 3339, in µs.
func readTime(text string) (int64, error) {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t.UnixMicro(), nil
	}
	us, err := millionths(text)
	switch {
	case err != nil:
		return 0, fmt.Errorf("the time %q is neither a number nor RFC 3339; give seconds, such as 12.5, or 2026-01-31T12:00:00Z", clip(text))
	case us < -latest*remainderUnit || us > latest*remainderUnit:
		return 0, fmt.Errorf("the time %s is beyond the year 2106; give seconds, not milliseconds", clip(text))
	}
	return us, nil
}

// millionths reads a decimal number, with an exponent or without, and rounds it to six decimals. Of numbers above
// 9·10¹² it returns only that they are large.
func millionths(text string) (int64, error) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || strings.Trim(text, "0123456789.eE+-") != "" {
		return 0, errors.New("no number")
	}
	return int64(math.Round(max(-9e12, min(f, 9e12)) * remainderUnit)), nil
}
