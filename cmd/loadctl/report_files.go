package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/loadctl/loadctl/internal/cli"
	"github.com/loadctl/loadctl/report"
)

// isFile tells whether an argument is the name of a file and not of a run. No run has a path separator in its name.
func isFile(arg string) bool {
	return strings.HasSuffix(arg, report.ArchiveExtension) || strings.ContainsAny(arg, `/\`)
}

// checkFiles refuses what cannot be given beside files.
func checkFiles(args, merged []string) error {
	if len(merged) > 0 {
		return cli.Config(errors.New("report: --merge adds to a run in Redis and not to files; give the name of a run"))
	}
	for _, arg := range args {
		if !isFile(arg) {
			return cli.Config(fmt.Errorf("report %.100q: runs and files cannot be combined; write the run into an archive: loadctl report %.64s --out FILE.loadctl", arg, arg))
		}
	}
	return nil
}

// combined is one report of all that these files hold.
func combined(files []string) (report.Report, error) {
	var parts []report.Part
	for _, file := range files {
		rep, err := readReport(file)
		if err != nil {
			return rep, err
		}
		parts = append(parts, report.Part{Name: file, Report: rep})
	}
	rep, err := report.Combine(parts)
	return rep, cli.Config(err)
}

// readReport reads an archive, or a report as JSON. The error names it.
func readReport(path string) (report.Report, error) {
	// Opening a pipe would wait for who writes to it.
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return report.Report{}, cli.Config(fmt.Errorf("%w; give the path of an archive, or the name of a run: use 1 to 64 letters, digits, dots, dashes and underscores, without .loadctl at its end", err))
	case !info.Mode().IsRegular():
		return report.Report{}, cli.Config(fmt.Errorf("read %s: it is no regular file; give the path of an archive", path))
	}
	f, err := os.Open(path)
	if err != nil {
		return report.Report{}, cli.Config(fmt.Errorf("%w; give the path of an archive", err))
	}
	defer cli.Close(f)
	rep, err := report.Read(f)
	if err != nil {
		return report.Report{}, cli.Config(fmt.Errorf("read %s: %w", path, err))
	}
	return rep, nil
}
