//go:build race

package report

// raceEnabled says that the race detector is built in.
const raceEnabled = true
