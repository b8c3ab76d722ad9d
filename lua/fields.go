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
