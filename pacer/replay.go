package pacer

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// A replay is a profile that is read from a file: "replay:FILE,speed=2". Only LoadProfile reads the file. It writes the
// pieces into the text, so that a run has them on all machines:
//
//	replay:file=traffic.csv,speed=2,pieces=240:240:1:500000;80:80:1:1500000
//
// The settings before the pieces say where they come from. parseReplay uses nothing but the pieces.

// storedPieces begins the pieces in the text of a replay.
const storedPieces = ",pieces="

// replay are the settings with which a file is read.
type replay struct {
	column string // of the rate in a CSV file; "" = rate
	// How many times as fast as in the file, and the factor of all rates, in millionths.
	speed, scale int64
	every        int64 // the length of the windows over which rates are averaged, µs of the file; 0 = none
}

// loadReplay reads "FILE[,speed=2][,scale=0.5][,every=10s][,column=NAME]" and the file.
func loadReplay(text string, open Open) (string, error) {
	file, options, given := strings.Cut(text, ",")
	if file == "" {
		return "", errors.New("give a file first, as in replay:traffic.csv,speed=2")
	}
	r, err := parseReplaySettings(options, given)
	if err != nil {
		return "", err
	}
	content, err := open(file)
	if err != nil {
		return "", unreadable(file, err)
	}
	defer content.Close()
	in := newLines(file, content)
	rows, err := readRows(in, r.column)
	if err != nil {
		return "", err
	}
	pieces, err := r.pieces(in, rows)
	if err != nil {
		return "", err
	}
	if given {
		options = "," + options
	}
	return stored + path.Base(filepath.ToSlash(file)) + options + storedPieces + JoinPieces(pieces), nil
}

// unreadable is the error about a file that cannot be opened or read. The name may be long.
func unreadable(file string, err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err
	}
	return fmt.Errorf("%.200s: %w; give the path of a file that can be read", file, err)
}

func parseReplaySettings(options string, given bool) (r replay, err error) {
	set := settings{}
	if given {
		if set, err = parseSettings(options); err != nil {
			return r, err
		}
	}
	if r.speed, err = set.factor("speed"); err != nil {
		return r, err
	}
	if r.scale, err = set.factor("scale"); err != nil {
		return r, err
	}
	if _, ok := set["every"]; ok {
		every, err := set.duration("every")
		if err != nil {
			return r, err
		}
		r.every = every.Microseconds()
	}
	if column, ok := set["column"]; ok {
		if column == "" {
			return r, errors.New("column=: give the name of a column")
		}
		r.column = column
		delete(set, "column")
	}
	return r, set.rest()
}

// factor reads a setting above zero, in millionths; 1,000,000 if it was not given.
func (s settings) factor(name string) (int64, error) {
	v, ok := s[name]
	if !ok {
		return remainderUnit, nil
	}
	delete(s, name)
	n, err := millionths(v)
	if err != nil || n <= 0 || n > remainderUnit*remainderUnit {
		return 0, fmt.Errorf("%s=%s: give a number above 0 and up to 1000000, such as 2 or 0.5", name, clip(v))
	}
	return n, nil
}

// parseReplay reads the pieces that loadReplay wrote.
func parseReplay(s settings) (Profile, error) {
	text, ok := s["pieces"]
	if !ok {
		return Profile{}, errors.New("its pieces are missing; LoadProfile reads them from a file")
	}
	for _, name := range []string{"file", "speed", "scale", "every", "column", "pieces"} {
		delete(s, name)
	}
	if n := strings.Count(text, ";") + 1; n > maxPieces {
		return Profile{}, fmt.Errorf("%d pieces, at most %d", n, maxPieces)
	}
	var p Profile
	for text := range strings.SplitSeq(text, ";") {
		piece, err := ParsePiece(text)
		if err != nil {
			return Profile{}, err
		}
		if piece.R0 != piece.R1 || piece.Dur == 0 || piece.Dur > maxLength.Microseconds() {
			return Profile{}, fmt.Errorf("piece %q: %w", clip(text), errFields)
		}
		rate := Rate{Num: piece.R0, Den: piece.Den}
		p.Segments = append(p.Segments, Segment{From: rate, To: rate, Length: time.Duration(piece.Dur) * time.Microsecond})
	}
	return p, nil
}

// BriefProfile returns the text of a profile for people. Pieces that were read from a file are many: their number and
// the SHA-256 of their text stand in their place. Of other profiles it returns the text as it is.
func BriefProfile(s string) string {
	name, rest, _ := strings.Cut(s, ":")
	head, pieces, ok := strings.Cut(rest, storedPieces)
	if kinds()[name].load == nil || !ok {
		return s
	}
	return fmt.Sprintf("%s:%s,[%d pieces, SHA-256 %x]", name, cmp.Or(strings.TrimPrefix(head, stored), "-"), strings.Count(pieces, ";")+1, sha256.Sum256([]byte(pieces)))
}
