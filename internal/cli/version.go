package cli

import (
	"fmt"
	"io"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
)

// Version describes a binary.
type Version struct {
	Program  string `json:"program"`
	Version  string `json:"version"`
	Go       string `json:"go"`
	Platform string `json:"platform"` // system/architecture
}

// program returns name and version of the program that a command belongs to.
func program(c *cobra.Command) string {
	return strings.TrimSpace(c.Root().Name() + " " + c.Root().Version)
}

// NewVersionCommand returns the command version of a program.
func NewVersionCommand(program, version string) *cobra.Command {
	var output Output
	c := &cobra.Command{
		Use:   "version",
		Short: "Show the version",
		Args:  Args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := output.Check(); err != nil {
				return err
			}
			v := Version{Program: program, Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
			return output.Print(c.OutOrStdout(), v, func(w io.Writer) error {
				_, err := fmt.Fprintln(w, v.Program, v.Version, v.Go, v.Platform)
				return err
			})
		},
	}
	output.AddFlags(c, "text", "json")
	return c
}
