// Package rows reads data files, and chooses the row of each request by its number. All workers of a run choose alike,
// without asking anybody: the number of a request is the ordinal of its slot, which is unique in the fleet.
//
//	table, err := rows.Read("users.csv", content)
//	if err != nil { … }
//	source := rows.Source{Name: "users", Pick: rows.Shuffle, Rows: table.Rows()}
//	pick := source.Picker()
//	user := table.Cell(pick(7), 0) // of request 7
package rows

import (
	"errors"
	"fmt"
	"math/bits"
	"regexp"
	"slices"
	"strings"
)

// The ways to choose the row of a request.
const (
	Once    = "once"    // each row for one request; the run ends with the last row
	Cycle   = "cycle"   // in the order of the file, again and again
	Shuffle = "shuffle" // as Cycle, in another order at each pass
	Random  = "random"  // any row, whatever came before
)

// Picks returns the ways to choose a row.
func Picks() []string { return []string{Once, Cycle, Shuffle, Random} }

// A Source describes a data file of a run. It is part of the run's spec, as JSON. The rows are not in it.
type Source struct {
	Name    string   `json:"name"` // placeholders are ${NAME.COLUMN}
	Columns []string `json:"columns"`
	Rows    int64    `json:"rows"` // ≥ 1
	Pick    string   `json:"pick"`
	Seed    uint64   `json:"seed,omitempty"` // of Shuffle and Random
	SHA256  string   `json:"sha256"`         // of the file
	Bytes   int64    `json:"bytes"`
}

// names says what can name a source, and a column that a placeholder can use.
var names = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,63}$`)

// IsName reports whether a text can stand in a placeholder: a letter or underscore, then letters, digits, dashes and
// underscores, up to 64 in all.
func IsName(s string) bool { return names.MatchString(s) }

// Validate checks the description. An error is one line that says what to do.
func (s Source) Validate() error {
	switch {
	case !names.MatchString(s.Name):
		return fmt.Errorf("%.40q cannot be a name in ${NAME.COLUMN}: use letters, digits, dashes and underscores, as in name=users", s.Name)
	case !slices.Contains(Picks(), s.Pick):
		return fmt.Errorf("pick %.20q: write one of %s", s.Pick, strings.Join(Picks(), ", "))
	case s.Rows < 1 || s.Rows > maxRows || len(s.Columns) < 1 || len(s.Columns) > maxColumns:
		return errors.New("it needs rows and columns")
	}
	return nil
}

// Column returns the number of a column. An error lists the columns there are.
func (s Source) Column(name string) (int, error) {
	if i := slices.Index(s.Columns, name); i >= 0 {
		return i, nil
	}
	var usable []string
	for _, c := range s.Columns {
		if names.MatchString(c) && len(usable) < 20 {
			usable = append(usable, "${"+s.Name+"."+c+"}")
		}
	}
	if len(usable) == 0 {
		return 0, errors.New("no column of the file can be in a placeholder: use letters, digits, dashes and underscores in its first line")
	}
	return 0, errors.New("the file has no such column; use one of " + strings.Join(usable, " "))
}

// Picker returns the function from the number of a request to its row: 0 … Rows−1. Sources of different names have
// different orders with the same seed: else rows of two files would always come in the same pairs. Any number of
// goroutines may call the function.
func (s Source) Picker() func(number uint64) int64 {
	n, seed := uint64(s.Rows), mixed(s.Seed)
	for _, c := range []byte(s.Name) {
		seed = mixed(seed ^ uint64(c))
	}
	switch s.Pick {
	case Shuffle:
		return func(number uint64) int64 { return int64(permuted(number%n, n, seed+number/n)) }
	case Random:
		return func(number uint64) int64 {
			high, _ := bits.Mul64(mixed(seed^number), n) // as even as n/2^64 allows
			return int64(high)
		}
	default:
		return func(number uint64) int64 { return int64(number % n) }
	}
}

// permuted returns where a permutation of 0 … n−1 puts i; each seed is another one. It is a Feistel network over the
// smallest square of a power of two that holds n, applied until the result is below n: on average less than four
// times. (Black and Rogaway, Ciphers with Arbitrary Finite Domains, 2002: cycle walking.)
func permuted(i, n, seed uint64) uint64 {
	half := (bits.Len64(n-1) + 1) / 2
	mask := uint64(1)<<half - 1
	for {
		left, right := i>>half, i&mask
		for round := range uint64(4) {
			left, right = right, left^mixed(seed<<2+round^right<<32)&mask
		}
		if i = left<<half | right; i < n {
			return i
		}
	}
}

// mixed spreads a change of any bit over all bits. (Steele, Lea and Flood, Fast Splittable Pseudorandom Number
// Generators, 2014: the finalizer of SplitMix64.)
func mixed(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
