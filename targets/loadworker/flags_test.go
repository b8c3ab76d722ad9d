package loadworker

import (
	"flag"
	"testing"

	"github.com/loadctl/loadctl/internal/console/cli/clitest"
)

var update = flag.Bool("update", false, "write the tables of docs/flags.md")

// TestFlagsPage: docs/flags.md has all flags, as --help has them.
func TestFlagsPage(t *testing.T) {
	clitest.FlagsPage(t, newRootCommand(), "../../docs", *update)
}

// TestHelpFits: help fits into 100 columns.
func TestHelpFits(t *testing.T) { clitest.HelpFits(t, newRootCommand()) }
