package lua

import (
	"encoding/binary"
	"errors"
	"strconv"
)

// errForm says that no script has written a text.
var errForm = errors.New("not written by this version of loadctl")

// spread stores the first numbers of a text under their names, and returns the rest of the text.
func spread(fields map[string]string, form []Field, text string) (string, error) {
	if len(text) < 8*len(form) {
		return "", errForm
	}
	for i, x := range form {
		fields[x.Name] = strconv.FormatInt(int64(binary.LittleEndian.Uint64([]byte(text[8*i:8*i+8]))), 10)
	}
	return text[8*len(form):], nil
}

// piece and bare are the bytes of a piece that a member holds, and of a piece of its target.
const (
	piece = 6 * 8
	bare  = 2 * 8
)

// circle is the number of places on the circle (segs.lua).
const circle = 1 << 24

// Core returns the numbers of a run by their names.
func Core(text string) (map[string]string, error) {
	fields := map[string]string{}
	rest, err := spread(fields, coreFields(), text)
	if err == nil && rest != "" {
		err = errForm
	}
	return fields, err
}

// Piece is a piece [Lo, Hi) of the circle that somebody holds or held, from slot FromK of law FromG on. For the log
// it counts from slot SinceK of law SinceG.
type Piece struct{ Lo, Hi, FromG, FromK, SinceG, SinceK int64 }

// Pieces reads pieces as the scripts keep them.
func Pieces(text string) (out []Piece, err error) {
	if len(text)%piece != 0 {
		return nil, errForm
	}
	for ; text != ""; text = text[piece:] {
		v := func(i int) int64 { return int64(binary.LittleEndian.Uint64([]byte(text[8*i : 8*i+8]))) }
		x := Piece{v(0), v(1), v(2), v(3), v(4), v(5)}
		if x.Lo < 0 || x.Hi <= x.Lo || x.Hi > circle || min(x.FromG, x.FromK, x.SinceG, x.SinceK) < 0 {
			return nil, errForm
		}
		out = append(out, x)
	}
	return out, nil
}

// Holding reads the record of a member: its fields by name, and what it holds.
func Holding(record string) (map[string]string, []Piece, error) {
	fields := map[string]string{}
	rest, err := spread(fields, recordFields(), record)
	if err != nil {
		return nil, nil, err
	}
	n, _ := strconv.Atoi(fields["held"])
	to, _ := strconv.Atoi(fields["target"])
	if n < 0 || to < 0 || n > len(rest)/piece || to > (len(rest)-n*piece)/bare {
		return nil, nil, errForm
	}
	fields["inc"] = rest[n*piece+to*bare:]
	held, err := Pieces(rest[:n*piece])
	return fields, held, err
}
