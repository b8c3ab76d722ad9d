package cli

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/fleet/results"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/pacer/limit"
	"github.com/loadctl/loadctl/report/archive"
	"github.com/loadctl/loadctl/report/render"
	"github.com/loadctl/loadctl/targets"
)

// Version describes a binary.
type Version struct {
	Program  string   `json:"program"`
	Version  string   `json:"version"` // "dev" if it was built without one
	Commit   string   `json:"commit"`  // of the source; "" = unknown
	Go       string   `json:"go"`
	Platform string   `json:"platform"` // system/architecture
	Features Features `json:"features"`
}

// Features are what another version of the program may not be able to do. docs/upgrade.md says what follows.
type Features struct {
	State       int      `json:"state"`        // version of runs in Redis: spec, keys and scripts
	Targets     []string `json:"targets"`      // schemes of URLs; those that are not ours as NAME=VERSION
	Limiters    []string `json:"limiters"`     // of --limiter
	Reports     []string `json:"reports"`      // formats of reports
	Archive     int      `json:"archive"`      // newest version of -o archive that it reads
	WorkerFiles int      `json:"worker_files"` // newest version of the files of workers that it reads
}

// features returns those of this binary.
func features(others []targets.Scheme) Features {
	return Features{
		State: spec.Version, Targets: targets.Schemes(others...), Limiters: limit.Names(), Reports: render.Formats(),
		Archive: archive.Version, WorkerFiles: results.FileVersion,
	}
}

// stamped returns the version of a binary, and the commit of its source. Values of the linker win. A binary that
// `go install` has built takes the version of its module.
func stamped(version, commit string) (string, string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return version, commit
	}
	return stamp(version, commit, info)
}

// stamp is stamped for a binary with this information of the compiler. A checkout has no version: Go makes one up there,
// and tells the commit too.
func stamp(version, commit string, info *debug.BuildInfo) (string, string) {
	var revision, modified string
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			revision = s.Value
		case "vcs.modified":
			modified = s.Value
		}
	}
	if modified == "true" && revision != "" {
		revision += "-dirty"
	}
	if version == "dev" && revision == "" && strings.HasPrefix(info.Main.Version, "v") {
		version = info.Main.Version
	}
	return version, cmp.Or(commit, revision)
}

// program returns name and version of the program that a command belongs to.
func program(c *cobra.Command) string {
	return strings.TrimSpace(c.Root().Name() + " " + c.Root().Version)
}

// newVersionCommand returns the command version of a program with these schemes besides ours, that was built from a commit;
// "" = unknown.
func newVersionCommand(program, version, commit string, others []targets.Scheme) *cobra.Command {
	var output Output
	c := &cobra.Command{
		Use:   "version",
		Short: "Show the version, and what it can do that others may not",
		Args:  Args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := output.Check(); err != nil {
				return err
			}
			v := Version{
				Program: program, Version: version, Commit: commit, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
				Features: features(others),
			}
			return output.Print(c.OutOrStdout(), v, v.text)
		},
	}
	output.AddFlags(c, "text", "json")
	return c
}

// text writes a line that names the binary, and lines of what it can do.
func (v Version) text(w io.Writer) error {
	f := v.Features
	_, err := fmt.Fprintf(w, "%s %s %s %s\ncommit    %s\nstate     %d\ntargets   %s\nlimiters  %s\nreports   %s\nfiles     archive %d, worker files %d\n",
		v.Program, v.Version, v.Go, v.Platform, cmp.Or(v.Commit, "unknown"), f.State,
		strings.Join(f.Targets, ", "), strings.Join(f.Limiters, ", "), strings.Join(f.Reports, ", "), f.Archive, f.WorkerFiles)
	return err
}
