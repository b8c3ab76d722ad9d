//go:build linux

package main

import (
	"cmp"
	"math"
	"slices"
)

// Values are what the rounds gave for one figure.
type values []float64

// median is the middle one, or the mean of the middle two; NaN of none.
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

// span is the smallest and the largest one; NaN of none.
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

// typical is the round with the median of a figure; of an even number of rounds the lower of the middle two.
func typical[T any](rounds []T, figure func(T) float64) T {
	sorted := slices.SortedFunc(slices.Values(rounds), func(a, b T) int { return cmp.Compare(figure(a), figure(b)) })
	return sorted[(len(sorted)-1)/2]
}
