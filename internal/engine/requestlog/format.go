package requestlog

import (
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/loadctl/loadctl/targets/status"
)

// A format is how a request becomes a line.
type format struct {
	head string // the first line; "" = none
	line func(w *lineWriter, b []byte, e *entry) []byte
	zstd bool
}

// columns are the names of what a line has, in this order.
const columns = "ordinal,step,due,sent,first_byte,done,status,class,bytes_in,bytes_out,connection,reused,latency_ns,trace_id"

// formatOf returns the format that a file's ending names.
func formatOf(path string) (format, error) {
	name, compressed := strings.CutSuffix(filepath.Base(path), ".zst")
	switch filepath.Ext(name) {
	case ".csv":
		return format{columns + "\n", (*lineWriter).csv, compressed}, nil
	case ".jsonl":
		return format{"", (*lineWriter).json, compressed}, nil
	}
	return format{}, errors.New("has no ending that is known; give a name that ends with .jsonl, .csv, .jsonl.zst or .csv.zst")
}

// A lineWriter formats entries.
type lineWriter struct {
	steps  []string
	trace  func(b []byte, number uint64) []byte
	second int64 // of the time that was formatted last
	text   [len("2006-01-02T15:04:05.")]byte
	made   bool // text is that of second
}

// csv appends a line of CSV (RFC 4180, with a line feed alone).
func (w *lineWriter) csv(b []byte, e *entry) []byte {
	b = append(strconv.AppendUint(b, e.number, 10), ',')
	b = append(appendCell(b, w.step(e)), ',')
	b = append(w.time(b, e.due), ',')
	b = append(w.time(b, e.sent), ',')
	if e.first != 0 {
		b = w.time(b, e.first)
	}
	b = append(b, ',')
	b = append(w.time(b, e.done), ',')
	b = append(appendStatus(b, e.status, false), ',')
	b = append(appendCell(b, e.class), ',')
	b = append(strconv.AppendInt(b, e.in, 10), ',')
	b = append(strconv.AppendInt(b, e.out, 10), ',')
	b = append(strconv.AppendInt(b, e.connection, 10), ',')
	b = append(strconv.AppendBool(b, e.reused), ',')
	b = append(strconv.AppendInt(b, e.done-e.due, 10), ',')
	if w.trace != nil {
		b = w.trace(b, e.number)
	}
	return append(b, '\n')
}

// json appends a line of JSON.
func (w *lineWriter) json(b []byte, e *entry) []byte {
	b = strconv.AppendUint(append(b, `{"ordinal":`...), e.number, 10)
	b = appendString(append(b, `,"step":`...), w.step(e))
	b = append(w.time(append(b, `,"due":"`...), e.due), '"')
	b = append(w.time(append(b, `,"sent":"`...), e.sent), '"')
	if e.first != 0 {
		b = append(w.time(append(b, `,"first_byte":"`...), e.first), '"')
	} else {
		b = append(b, `,"first_byte":null`...)
	}
	b = append(w.time(append(b, `,"done":"`...), e.done), '"')
	b = appendStatus(append(b, `,"status":`...), e.status, true)
	b = appendString(append(b, `,"class":`...), e.class)
	b = strconv.AppendInt(append(b, `,"bytes_in":`...), e.in, 10)
	b = strconv.AppendInt(append(b, `,"bytes_out":`...), e.out, 10)
	b = strconv.AppendInt(append(b, `,"connection":`...), e.connection, 10)
	b = strconv.AppendBool(append(b, `,"reused":`...), e.reused)
	b = strconv.AppendInt(append(b, `,"latency_ns":`...), e.done-e.due, 10)
	b = append(b, `,"trace_id":"`...)
	if w.trace != nil {
		b = w.trace(b, e.number)
	}
	return append(b, "\"}\n"...)
}

// step returns the name of the step; "" without a workload.
func (w *lineWriter) step(e *entry) string {
	if int(e.step) >= len(w.steps) {
		return ""
	}
	return w.steps[e.step]
}

// time appends a time in UTC as RFC 3339 has it, always with nine digits behind the second. Most times are in the same second
// as the one before, so the rest is made once.
func (w *lineWriter) time(b []byte, ns int64) []byte {
	second, rest := ns/1e9, ns%1e9
	if rest < 0 {
		second, rest = second-1, rest+1e9
	}
	if !w.made || second != w.second {
		w.second, w.made = second, true
		time.Unix(second, 0).UTC().AppendFormat(w.text[:0], "2006-01-02T15:04:05.")
	}
	b = append(b, w.text[:]...)
	var digits [9]byte
	for i := len(digits) - 1; i >= 0; i-- {
		digits[i] = byte('0' + rest%10)
		rest /= 10
	}
	return append(append(b, digits[:]...), 'Z')
}

// appendCell appends a cell of CSV.
func appendCell(b []byte, s string) []byte {
	if !strings.ContainsAny(s, "\",\r\n") {
		return append(b, s...)
	}
	b = append(b, '"')
	b = append(b, strings.ReplaceAll(s, `"`, `""`)...)
	return append(b, '"')
}

// appendString appends a string of JSON.
func appendString(b []byte, s string) []byte {
	const digits = "0123456789abcdef"
	b = append(b, '"')
	for i := 0; i < len(s); {
		c, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', byte(c))
		case c < ' ':
			b = append(b, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		default:
			b = utf8.AppendRune(b, c) // of bytes that are no text, the character that stands for such
		}
		i += size
	}
	return append(b, '"')
}

// appendStatus appends a number, or the name of a status of gRPC.
func appendStatus(b []byte, n int32, quoted bool) []byte {
	if n < status.FirstGRPC || n > status.LastGRPC {
		return strconv.AppendInt(b, int64(n), 10)
	}
	if quoted {
		return append(append(append(b, '"'), status.Name(int(n))...), '"')
	}
	return append(b, status.Name(int(n))...)
}
