package lua

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
)

// generation and span are the bytes of a generation behind the figures, and of a range behind a member's numbers.
const (
	generation = 14 * 8
	span       = 4 * 8
)

// errForm is what is wrong with a text that no script has written.
var errForm = errors.New("not written by this version of the scripts")

// counts, figures and member are the names of the numbers that the scripts keep together, in their order: see form.lua.
func counts() []string { return strings.Fields("last edge issued skipped nx") }

func figures() []string {
	return strings.Fields("id w n at stop left shift horizon ttl qmax reach grown phi away thin " +
		"beyond permitfor deadman started heard stood version grantfrom")
}

func member() []string {
	return strings.Fields("seq weight v gen share leased beyond at rtt shift phi from rank size")
}

// Budget is a run's budget by the names of its fields, of the hash in which the scripts keep it. Generations are not among them.
func Budget(hash map[string]string) (map[string]string, error) {
	fields := maps.Clone(hash)
	for name, names := range map[string][]string{"counts": counts(), "figures": figures()} {
		if hash[name] == "" {
			continue
		}
		rest, err := spread(fields, names, hash[name])
		if err == nil && (len(rest)%generation != 0 || name == "counts" && rest != "") {
			err = errForm
		}
		if err != nil {
			return nil, fmt.Errorf("budget field %s: %w", name, err)
		}
		delete(fields, name)
	}
	return fields, nil
}

// Member is a member's record by the names of its fields.
func Member(record string) (map[string]string, error) {
	inc, rest, _ := strings.Cut(record, " ")
	state, numbers, _ := strings.Cut(rest, " ") // what it holds and its last reply follow
	fields := map[string]string{"inc": inc, "state": state}
	rest, err := spread(fields, member(), numbers)
	if size, bad := strconv.Atoi(fields["size"]); err == nil && (bad != nil || size < 0 || size%span != 0 || size > len(rest)) {
		err = errForm
	}
	return fields, err
}

// spread puts the first numbers of a text under their names, and returns what is behind them.
func spread(fields map[string]string, names []string, text string) (string, error) {
	if len(text) < 8*len(names) {
		return "", errForm
	}
	for i, name := range names {
		fields[name] = strconv.FormatInt(int64(binary.LittleEndian.Uint64([]byte(text[8*i:8*i+8]))), 10)
	}
	return text[8*len(names):], nil
}

// core and holding are the names of the numbers of a run by arcs and of a member of it, in their order: see state.lua.
func core() []string {
	return strings.Fields("tf quiet patience leveled era command started n w hold min span requests deadman heard newest follow phase begun given free orphans")
}

func holding() []string {
	return strings.Fields("seq weight version joins state leaving giving missing units held target")
}

// piece and bare are the bytes of a piece that a member holds, and of one that it is to hold.
const (
	piece = 6 * 8
	bare  = 2 * 8
)

// Core is the numbers of a run by arcs by their names.
func Core(text string) (map[string]string, error) {
	fields := map[string]string{}
	rest, err := spread(fields, core(), text)
	if err == nil && rest != "" {
		err = errForm
	}
	return fields, err
}

// Piece is units of the circle that somebody holds, or held: [Lo, Hi) from slot FromK of generation FromG on, counted from slot SinceK of SinceG on.
type Piece struct{ Lo, Hi, FromG, FromK, SinceG, SinceK int64 }

// Pieces reads pieces as the scripts keep them.
func Pieces(text string) (out []Piece, err error) {
	if len(text)%piece != 0 {
		return nil, errForm
	}
	for ; text != ""; text = text[piece:] {
		v := func(i int) int64 { return int64(binary.LittleEndian.Uint64([]byte(text[8*i : 8*i+8]))) }
		out = append(out, Piece{v(0), v(1), v(2), v(3), v(4), v(5)})
	}
	return out, nil
}

// Holding is a member of a run by arcs by the names of its fields, and what it holds.
func Holding(record string) (map[string]string, []Piece, error) {
	fields := map[string]string{}
	rest, err := spread(fields, holding(), record)
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
