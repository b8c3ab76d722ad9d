package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/output/printable"
)

// Output is the flag that chooses the format of what a command prints.
type Output struct {
	Format  string
	formats []string
}

// AddFlags adds -o/--output with these formats, the first being the default.
func (o *Output) AddFlags(c *cobra.Command, formats ...string) {
	o.formats = formats
	c.Flags().StringVarP(&o.Format, "output", "o", formats[0], "`FORMAT` of the output: "+strings.Join(formats, ", "))
	Complete(c, "output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
}

// Check refuses unknown formats.
func (o *Output) Check() error {
	if !slices.Contains(o.formats, o.Format) {
		return Config(fmt.Errorf("--output %.40q: there are %s", o.Format, strings.Join(o.formats, ", ")))
	}
	return nil
}

// Print writes v as JSON, or calls text to write it for people.
func (o *Output) Print(w io.Writer, v any, text func(w io.Writer) error) error {
	if o.Format != "json" {
		return text(w)
	}
	enc := json.NewEncoder(printable.NewJSONWriter(w))
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
