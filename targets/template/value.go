package template

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loadctl/loadctl/targets/formula"
)

// value appends what fills a placeholder.
type value func(b []byte, r Request) []byte

// kind is a name that a placeholder may have.
type kind struct {
	name  string
	usage string // its arguments
	parse func(arguments []string, salt uint64) (value, error)
}

// kinds is the one place where names are registered. It is a function, because a variable could be changed.
func kinds() []kind {
	return []kind{
		{"now", "", plain(now)},
		{"ordinal", "", plain(ordinal)},
		{"random", " MIN MAX", random},
		{"span_id", "", plain(span)},
		{"trace_id", "", plain(traceID)},
		{"unix", "", plain(unix)},
		{"uuid", "", salted(uuid)},
		{"worker", "", plain(worker)},
	}
}

// Help lists the placeholders in a line.
func Help() string {
	var names []string
	for _, k := range kinds() {
		names = append(names, "${"+k.name+k.usage+"}")
	}
	return strings.Join(names, " ")
}

// value reads what stands between ${ and }, behind this literal.
func (o Options) value(text, literal string, salt uint64) (value, error) {
	add := verbatim
	if o.Escape != nil {
		add = o.Escape(literal)
	}
	words := strings.Fields(text)
	if len(words) == 0 {
		return nil, errors.New("is empty; use one of " + Help())
	}
	if len(words) == 1 && strings.Contains(words[0], ".") && o.Column != nil {
		return o.cell(words[0], add)
	}
	if i := slices.Index(o.Taken, words[0]); i >= 0 && len(words) == 1 {
		return taken(i, add), nil
	}
	if slices.Contains(o.Taken, formula.Unsure+words[0]) {
		return nil, errors.New("it is not taken and not set on every way to here; set it before the first step that may leave it out")
	}
	all := kinds()
	i := slices.IndexFunc(all, func(k kind) bool { return k.name == words[0] })
	if i < 0 {
		return nil, errors.New("there is no such placeholder; use one of " + o.known() + ". For the characters ${ write $${")
	}
	v, err := all[i].parse(words[1:], salt)
	if err != nil {
		return nil, fmt.Errorf("%w; write ${%s%s}", err, all[i].name, all[i].usage)
	}
	return v, nil
}

// known lists the placeholders in a line: those of earlier steps first.
func (o Options) known() string {
	var all []string
	for _, name := range o.Taken {
		if strings.HasPrefix(name, formula.Unsure) {
			continue
		}
		all = append(all, "${"+name+"}")
	}
	return strings.Join(append(all, Help()), " ")
}

// cell returns a value that is in a data file.
func (o Options) cell(name string, add func(b []byte, cell string) []byte) (value, error) {
	cell, err := o.Column(name)
	if err != nil {
		return nil, err
	}
	return func(b []byte, r Request) []byte { return add(b, cell(r.Row)) }, nil
}

// taken returns a value that an earlier step has taken; nothing if none was.
func taken(i int, add func(b []byte, cell string) []byte) value {
	return func(b []byte, r Request) []byte {
		if i >= len(r.Taken) {
			return b
		}
		return add(b, r.Taken[i])
	}
}

// IsName reports whether a placeholder of this package has this name.
func IsName(name string) bool {
	return slices.ContainsFunc(kinds(), func(k kind) bool { return k.name == name })
}

func verbatim(b []byte, cell string) []byte { return append(b, cell...) }

// plain is the parser of a value without arguments.
func plain(v value) func([]string, uint64) (value, error) {
	return salted(func(uint64) value { return v })
}

// salted is the parser of a random value without arguments.
func salted(v func(salt uint64) value) func([]string, uint64) (value, error) {
	return func(arguments []string, salt uint64) (value, error) {
		if len(arguments) > 0 {
			return nil, errors.New("it takes no arguments")
		}
		return v(salt), nil
	}
}

// now is the time in UTC, with milliseconds (RFC 3339).
func now(b []byte, r Request) []byte {
	return time.Unix(0, r.Time).UTC().AppendFormat(b, "2006-01-02T15:04:05.000Z")
}

// unix is the Unix time, ms.
func unix(b []byte, r Request) []byte { return strconv.AppendInt(b, r.Time/1e6, 10) }

// ordinal is the number of the request.
func ordinal(b []byte, r Request) []byte { return strconv.AppendUint(b, r.Number, 10) }

// worker is the id of the worker.
func worker(b []byte, r Request) []byte { return append(b, r.Worker...) }

// traceID is the trace id of all requests of the flow (W3C Trace Context), 32 hexadecimal digits.
func traceID(b []byte, r Request) []byte { return r.Trace.AppendID(b, r.Number) }

// span is the span id of the request, 16 hexadecimal digits.
func span(b []byte, r Request) []byte { return r.Trace.AppendSpan(b, r.Number, r.Step) }

// random is a whole number from MIN to MAX, both included.
func random(arguments []string, salt uint64) (value, error) {
	if len(arguments) != 2 {
		return nil, errors.New("it needs two numbers")
	}
	low, err1 := strconv.ParseInt(arguments[0], 10, 64)
	high, err2 := strconv.ParseInt(arguments[1], 10, 64)
	if err1 != nil || err2 != nil || high < low || uint64(high)-uint64(low) >= 1<<53 {
		return nil, errors.New("it needs two whole numbers, the smaller one first, less than 2^53 apart")
	}
	size := uint64(high) - uint64(low) + 1
	return func(b []byte, r Request) []byte {
		// The remainder favours small numbers by less than size/2^64, at most 1 in 2,000.
		return strconv.AppendInt(b, low+int64(r.bits(0, salt)%size), 10)
	}, nil
}

// uuid is a random UUID, version 4 (RFC 9562, 5.4).
func uuid(salt uint64) value {
	return func(b []byte, r Request) []byte {
		var u [16]byte
		binary.LittleEndian.PutUint64(u[:8], r.bits(0, salt))
		binary.LittleEndian.PutUint64(u[8:], r.bits(1, salt))
		u[6], u[8] = u[6]&0x0f|0x40, u[8]&0x3f|0x80
		b = hex.AppendEncode(b, u[:4])
		for from := 4; from < 10; from += 2 {
			b = hex.AppendEncode(append(b, '-'), u[from:from+2])
		}
		return hex.AppendEncode(append(b, '-'), u[10:])
	}
}

// bits returns 64 random bits, the same for the same Request, seed and salt. Each input is mixed before the next is
// added.
func (r Request) bits(seed int, salt uint64) uint64 {
	return mix(mix(mix(mix(r.Seed[seed])+r.Number)+uint64(r.Time)) + salt)
}

// mix is the output function of SplitMix64 (Steele, Lea and Flood 2014), a bijection.
func mix(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
