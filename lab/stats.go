//go:build linux

package main

import (
	"cmp"
	"math"
	"slices"
)

// values holds one figure of each round.
type values []float64

// median returns the middle value, or the mean of the middle two; NaN if there is none.
func (v values) median() float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(v))
	mid := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[mid]
	}
	return (sorted[mid-1] + sorted[mid]) / 2
}

// span returns the smallest and the largest value; NaN if there is none.
func (v values) span() (low, high float64) {
	if len(v) == 0 {
		return math.NaN(), math.NaN()
	}
	return slices.Min(v), slices.Max(v)
}

// of picks a figure out of each round.
func of[T any](rounds []T, figure func(T) float64) values {
	v := make(values, len(rounds))
	for i, r := range rounds {
		v[i] = figure(r)
	}
	return v
}

// typical returns the round with the median of a figure. Of an even number of rounds it takes the lower of the middle
// two.
func typical[T any](rounds []T, figure func(T) float64) T {
	sorted := slices.SortedFunc(slices.Values(rounds), func(a, b T) int { return cmp.Compare(figure(a), figure(b)) })
	return sorted[(len(sorted)-1)/2]
}
