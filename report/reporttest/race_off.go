//go:build !race

package reporttest

// RaceEnabled says that the race detector is built in.
const RaceEnabled = false
