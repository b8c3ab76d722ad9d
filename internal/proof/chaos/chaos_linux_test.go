package chaos

import (
	"fmt"
	"os"
	"testing"
)

// TestChaos plays the scenarios one after the other, each alone on the machine, and prints the table. Only make chaos
// plays all of them, and has bounds on time. Otherwise a run goes on until the fault is over, and the test counts.
func TestChaos(t *testing.T) {
	var rows []row
	for _, sc := range scenarios() {
		if !sc.plays() {
			continue
		}
		t.Run(sc.name, func(t *testing.T) {
			r := row{name: sc.name, broken: true} // until the scenario has ended
			defer func() { rows = append(rows, r) }()
			r = perform(t, sc)
		})
	}
	fmt.Print("\n", table(rows...), "\n")
}

// plays reports whether the scenario belongs to this run of the tests.
func (sc scenario) plays() bool {
	switch {
	case full():
		return true
	case testing.Short():
		return sc.when == always
	default:
		return sc.when >= daily && (sc.cut == 0 || os.Geteuid() == 0)
	}
}
