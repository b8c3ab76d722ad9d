//go:build linux

// Command bench measures this project beside other load generators, all in one run, and writes what it found into a
// document:
//
//	go run ./internal/bench -out docs/benchmarks.md        # all experiments, as make bench
//	go run ./internal/bench -run saturation,rate           # some of them, printed
//	go run ./internal/bench -quick                         # does it work? The figures mean nothing
//
// The endpoint is a process on one core, what fires at it are processes on another one. What arrived, and when, is
// what the endpoint saw; the CPU is what the kernel charged. Nothing that a tool says of itself goes into a
// comparison, but for percentiles of latency, which only the tool can know.
//
// Contenders take turns, round after round (A B A B), so that what the machine does meanwhile hits all of them. Figures
// are medians of the rounds.
package main
