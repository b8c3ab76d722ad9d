//go:build linux

// Command bench measures this project beside other load generators, all in one run, and writes the results into a
// document:
//
//	go run ./internal/bench -out docs/benchmarks.md        # all experiments, as make bench
//	go run ./internal/bench -run saturation,rate           # some of them, printed
//	go run ./internal/bench -quick                         # does it work? The figures mean nothing
//
// The endpoint is a process on one core. The load generators are processes on another core. The endpoint records which
// requests arrived, and when. CPU time is what the kernel accounts. Comparisons use no figure that a tool reports
// about itself, except percentiles of latency, which only the tool can know.
//
// Contenders take turns, round after round (A B A B), so that disturbances of the machine affect all of them alike.
// Figures are medians of the rounds.
package main
