package chaos

import (
	"fmt"
	"os"
	"testing"
)

// TestChaos plays the scenarios one after the other, each alone on the machine, and prints the table.
func TestChaos(t *testing.T) {
	var rows []row
	for _, sc := range scenarios() {
		if !full() && (!sc.short || sc.cut > 0 && os.Geteuid() != 0) {
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
