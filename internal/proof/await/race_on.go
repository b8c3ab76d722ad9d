//go:build race

package await

// RaceEnabled says that the race detector is built in.
const RaceEnabled = true
