package demo

import (
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

var update = flag.Bool("update", false, "write the golden files in testdata")

// played returns the seconds of a short story.
func played() []second {
	return []second{
		{asked: 1000, arrived: 999, whole: true, moved: true, marks: []string{"w1 w2 w3 begin"}},
		{asked: 1000, arrived: 1000, whole: true},
		{asked: 2998, arrived: 2996, whole: true, moved: true, marks: []string{"set-rate 3000"}},
		{asked: 3000, arrived: 3002, whole: true},
		{asked: 3000, arrived: 2509, whole: true, moved: true, shaken: true, marks: []string{"w2 killed", "w2 missed"}},
		{asked: 3000, arrived: 3090, whole: true, shaken: true},
		{asked: 3000, arrived: 2999, whole: true, moved: true, shaken: true, marks: []string{"w4 joins"}},
		{asked: 503, arrived: 504, whole: true, moved: true, shaken: true, marks: []string{"set-rate 500"}},
		{asked: 500, arrived: 500, whole: true, shaken: true},
		{asked: 0, arrived: 0, whole: true},
		{asked: 3, arrived: 2, moved: true, marks: []string{"stop"}},
	}
}

func TestPlotGolden(t *testing.T) {
	for name, l := range map[string]look{
		"plot.blocks": {width: 80, blocks: true},
		"plot.ascii":  {width: 100},
		"plot.colour": {width: 80, blocks: true, colour: true},
		"plot.narrow": {width: 20},
	} {
		t.Run(name, func(t *testing.T) {
			got, path := plot(played(), l), filepath.Join("testdata", name)
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("%s differs (go test -update writes it anew):\n%s", path, got)
			}
		})
	}
}

// TestBar: the bar has the length of the arrivals, and the mark stands where the bar of what was asked for would end,
// within the width.
func TestBar(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		most, width := 1+rng.Int64N(1_000_000), leastBar+rng.IntN(90)
		s := second{asked: rng.Int64N(most + 1), arrived: rng.Int64N(most + 1)}
		bar := s.bar(most, width, "█", "│", look{}, green)
		if n := utf8.RuneCountInString(bar); n != width || strings.Count(bar, "│") != 1 {
			t.Fatalf("%+v of %d: %q has %d columns, want %d with one mark", s, most, bar, n, width)
		}
		mark := utf8.RuneCountInString(bar[:strings.Index(bar, "│")])
		if want := float64(s.asked) / float64(most) * float64(width-1); float64(mark) < want-0.5 || float64(mark) > want+0.5 {
			t.Fatalf("%+v of %d: %q has its mark in column %d, want %.2f", s, most, bar, mark, want)
		}
		filled, want := strings.Count(bar, "█"), float64(s.arrived)/float64(most)*float64(width-1)
		if float64(mark) < want-0.5 {
			filled++ // the mark covers one
		}
		if float64(filled) < want-0.5 || float64(filled) > want+0.5 {
			t.Fatalf("%+v of %d: %q has %d columns filled, want %.2f", s, most, bar, filled, want)
		}
	}
}

// TestPlotFits: no row is wider than allowed, for any content.
func TestPlotFits(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 1000 {
		seconds := make([]second, 1+rng.IntN(20))
		for i := range seconds {
			seconds[i] = second{asked: rng.Int64N(100_000), arrived: rng.Int64N(100_000), whole: true}
			if rng.IntN(3) == 0 {
				seconds[i].marks = []string{strings.Repeat("x", 1+rng.IntN(25))}
			}
		}
		l := look{width: 75 + rng.IntN(26), blocks: rng.IntN(2) == 0}
		rows := strings.Split(strings.TrimSuffix(plot(seconds, l), "\n"), "\n")
		if len(rows) != len(seconds)+1 {
			t.Fatalf("%d rows for %d seconds", len(rows), len(seconds))
		}
		for _, row := range rows {
			if n := utf8.RuneCountInString(row); n > l.width {
				t.Fatalf("%d columns, at most %d: %q", n, l.width, row)
			}
		}
	}
}
