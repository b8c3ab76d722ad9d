package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/report"
)

// isFile tells whether an argument names a file rather than a run. The name of a run has no path separator.
func isFile(arg string) bool {
	return strings.HasSuffix(arg, report.ArchiveExtension) || strings.ContainsAny(arg, `/\`)
}

// orFile adds to the error that a run cannot be read how to read the file of that name, if there is one.
func orFile(name string, err error) error {
	if info, missing := os.Stat(name); err != nil && missing == nil && info.Mode().IsRegular() {
		return fmt.Errorf("%w; to read the file, write ./%s", err, name)
	}
	return err
}

// checkFiles refuses arguments that do not go together with files.
func checkFiles(command string, args, merged []string) error {
	if len(merged) > 0 {
		return cli.Config(fmt.Errorf("%s: --merge adds files to a run in Redis, not to archives; give the name of the run", command))
	}
	for _, arg := range args {
		if !isFile(arg) {
			return cli.Config(fmt.Errorf("%s %.100q: runs and files cannot be combined; write the run into an archive: loadctl report %.64s --out FILE.loadctl", command, arg, arg))
		}
	}
	return nil
}

// combined returns one report of all these files.
func combined(files []string) (report.Report, error) {
	var parts []report.Part
	for _, file := range files {
		rep, err := cli.ReadReport(file)
		if err != nil {
			return rep, err
		}
		parts = append(parts, report.Part{Name: file, Report: rep})
	}
	rep, err := report.Combine(parts)
	rep.SamplesIn = files
	return rep, cli.Config(err)
}
