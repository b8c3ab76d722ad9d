package runflags

import (
	"slices"
	"testing"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/report/render"
)

// TestCompleteLimiter: the names of limiters are completed.
func TestCompleteLimiter(t *testing.T) {
	c := &cobra.Command{Use: "do", Run: func(*cobra.Command, []string) {}}
	new(Spec).AddFlags(c)
	cli.RegisterCompletions(c)
	complete, ok := c.GetFlagCompletionFunc("limiter")
	if !ok {
		t.Fatal("nothing completes --limiter")
	}
	if names, _ := complete(c, nil, ""); !slices.Contains(names, "token-bucket") {
		t.Errorf("%v", names)
	}
}

// completes is what a shell offers for a flag.
func completes(t *testing.T, c *cobra.Command, flag string) []string {
	t.Helper()
	complete, ok := c.GetFlagCompletionFunc(flag)
	if !ok {
		t.Fatalf("nothing completes --%s", flag)
	}
	names, directive := complete(c, nil, "")
	if directive&cobra.ShellCompDirectiveNoFileComp == 0 {
		t.Errorf("--%s is completed with the names of files", flag)
	}
	return names
}

// TestCompleteFlags: where a flag takes one of a few words, a shell knows them.
func TestCompleteFlags(t *testing.T) {
	c := &cobra.Command{Use: "do", Run: func(*cobra.Command, []string) {}}
	new(Spec).AddFlags(c)
	new(cli.Report).AddFlags(c)
	cli.RegisterCompletions(c)
	for flag, want := range map[string][]string{"output": render.Formats(), "profile": {"replay:", "sine:", "spike:", "steps:"}} {
		if names := completes(t, c, flag); !slices.Equal(names, want) {
			t.Errorf("--%s: %q, want %q", flag, names, want)
		}
	}
}
