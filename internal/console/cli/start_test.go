package cli

import (
	"testing"

	"github.com/spf13/cobra"
)

// TestTheDefaultEndsNoWaitForARun: workers may be there long before somebody creates the run.
func TestTheDefaultEndsNoWaitForARun(t *testing.T) {
	for _, args := range [][]string{{}, {"--start-timeout", "0"}} {
		var start StartTimeout
		c := &cobra.Command{}
		start.AddFlags(c)
		if err := c.ParseFlags(args); err != nil {
			t.Fatal(err)
		}
		ctx, done := start.Created(t.Context(), "x")
		if end, bounded := ctx.Deadline(); bounded {
			t.Errorf("%q: it ends at %v", args, end)
		}
		done()
	}
}
