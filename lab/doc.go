//go:build linux

// Command lab measures this project beside other load generators, all in one run, and writes the results into a
// document:
//
//	go -C lab run . -out ../docs/benchmarks.md        # all experiments, as make bench
//	go -C lab run . -run saturation,rate           # some of them, printed
//	go -C lab run . -quick                         # does it work? The figures mean nothing
//
// The endpoint is a process on one core. The load generators are processes on another core. The endpoint records which
// requests arrived, and when. CPU time is what the kernel accounts. Comparisons use no figure that a tool reports
// about itself, except percentiles of latency, which only the tool can know.
//
// Contenders take turns, round after round (A B A B), so that disturbances of the machine affect all of them alike.
// Figures are medians of the rounds.
package main
