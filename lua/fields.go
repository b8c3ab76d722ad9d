package lua

import (
	"encoding/binary"
	"errors"
	"strconv"
)

// errForm says that no script has written a text.
var errForm = errors.New("not written by this version of loadctl")

// A Number is a field of a stored text with its value.
type Number struct {
	Field
	Value int64
}

// Read reads the numbers of a text in their order, and returns the rest of the text. form is one of formOf.
func Read(form, text string) (numbers []Number, rest string, err error) {
	fields := formOf(form).fields
	if len(fields) == 0 || len(text) < 8*len(fields) {
		return nil, "", errForm
	}
	for i, x := range fields {
		numbers = append(numbers, Number{x, number(text, i)})
	}
	return numbers, text[8*len(fields):], nil
}

// spread is Read with the values by their names.
func spread(form, text string) (fields map[string]string, rest string, err error) {
	numbers, rest, err := Read(form, text)
	if err != nil {
		return nil, "", err
	}
	fields = map[string]string{}
	for _, x := range numbers {
		fields[x.Name] = strconv.FormatInt(x.Value, 10)
	}
	return fields, rest, nil
}

// range and bare are how many bytes the forms of these names have. They are constants, as a log may have many ranges.
const (
	rangeSize = 6 * 8
	bare      = 2 * 8
)

// circle is the number of places on the circle (ranges.lua).
const circle = 1 << 24

// Core returns the numbers of a run by their names.
func Core(text string) (map[string]string, error) {
	fields, rest, err := spread("core", text)
	if err == nil && rest != "" {
		err = errForm
	}
	return fields, err
}

// Range is a range [Lo, Hi) of the circle that somebody holds or held, from slot FromK of law FromG on. For the log
// it counts from slot SinceK of law SinceG.
type Range struct{ Lo, Hi, FromG, FromK, SinceG, SinceK int64 }

// Ranges reads ranges as the scripts keep them.
func Ranges(text string) (out []Range, err error) {
	if len(text)%rangeSize != 0 {
		return nil, errForm
	}
	for ; text != ""; text = text[rangeSize:] {
		x := Range{number(text, 0), number(text, 1), number(text, 2), number(text, 3), number(text, 4), number(text, 5)}
		if x.Lo < 0 || x.Hi <= x.Lo || x.Hi > circle || min(x.FromG, x.FromK, x.SinceG, x.SinceK) < 0 {
			return nil, errForm
		}
		out = append(out, x)
	}
	return out, nil
}

// Holding reads the record of a member: its fields by name, what it holds, and its target, which has only places.
func Holding(record string) (fields map[string]string, held, target []Range, err error) {
	fields, rest, err := spread("record", record)
	if err != nil {
		return nil, nil, nil, err
	}
	n, _ := strconv.Atoi(fields["holds"])
	to, _ := strconv.Atoi(fields["aims"])
	if n < 0 || to < 0 || n > len(rest)/rangeSize || to > (len(rest)-n*rangeSize)/bare {
		return nil, nil, nil, errForm
	}
	fields["inc"] = rest[n*rangeSize+to*bare:]
	for i := range to {
		at := rest[n*rangeSize+i*bare:]
		target = append(target, Range{Lo: number(at, 0), Hi: number(at, 1)})
	}
	held, err = Ranges(rest[:n*rangeSize])
	return fields, held, target, err
}

// number returns the i-th number of a text.
func number(text string, i int) int64 {
	return int64(binary.LittleEndian.Uint64([]byte(text[8*i : 8*i+8])))
}

// The score of an unowned range shows its kind, and its order within that kind: free, unknown, and those in no target
// (ranges.lua).
const (
	UnownedKind     = 33554432        // the distance of two kinds
	UnassignedScore = 2 * UnownedKind // the lowest score of the third kind
)
