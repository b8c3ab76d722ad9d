//go:build linux

package main

import (
	"math"
	"testing"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		v                 values
		median, low, high float64
	}{{values{3}, 3, 3, 3}, {values{9, 1, 5}, 5, 1, 9}, {values{4, 1, 2, 9}, 3, 1, 9}} {
		low, high := c.v.span()
		if c.v.median() != c.median || low != c.low || high != c.high {
			t.Errorf("%v: median %v of %v to %v", c.v, c.v.median(), low, high)
		}
	}
	if !math.IsNaN(values(nil).median()) {
		t.Error("nothing has a median")
	}
	if got := typical([]float64{7, 1, 3, 9}, func(x float64) float64 { return x }); got != 3 {
		t.Errorf("the typical one of 1, 3, 7, 9 is %v", got)
	}
}

func TestSteal(t *testing.T) {
	before := parseTicks("cpu  100 0 50 800 10 0 5 35 90 0\ncpu0 1 2 3\n")
	now := parseTicks("cpu  150 0 60 820 10 0 5 55 120 0\n")
	if before.all != 1000 || before.stolen != 35 {
		t.Errorf("%+v", before)
	}
	if got := before.steal(now); got != 0.2 {
		t.Errorf("20 of 100 ticks are %v", got)
	}
	if got := before.steal(before); got != 0 {
		t.Errorf("of no time %v was stolen", got)
	}
}

func TestWithin(t *testing.T) {
	if got := within([]int64{1, 2, 3, 4}, 2, 4); len(got) != 2 || got[0] != 2 || got[1] != 3 {
		t.Errorf("from 2 to before 4: %v", got)
	}
}
