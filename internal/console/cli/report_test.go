package cli

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/archive"
	"github.com/loadctl/loadctl/report/render"
)

// reportTo is what --out file makes of the flags.
func reportTo(t *testing.T, file string, args ...string) *Report {
	t.Helper()
	var r Report
	c := &cobra.Command{Use: "test"}
	r.AddFlags(c)
	if err := c.ParseFlags(append(args, "--out", file)); err != nil {
		t.Fatal(err)
	}
	return &r
}

func built() report.Report { return report.Build(report.Input{Run: "x"}) }

// names are the files in a directory.
func names(t *testing.T, dir string) (found []string) {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		found = append(found, f.Name())
	}
	return found
}

// TestReportFile: it is written whole or not at all, and nothing else is left.
func TestReportFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "re*port")
	if err := os.WriteFile(file, []byte("of yesterday"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := reportTo(t, file, "-o", "json")
	if err := r.Check(); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "of yesterday" || len(names(t, dir)) != 1 {
		t.Errorf("checking it changed %q, %v, %v", text, err, names(t, dir))
	}
	var stdout, want bytes.Buffer
	if err := r.Write(&stdout, built()); err != nil || stdout.Len() > 0 {
		t.Errorf("%v, on stdout %q", err, &stdout)
	}
	rep := built()
	rep.Described.ReportedBy = "test"
	if err := render.JSON(&want, rep); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != want.String() || info.Mode() != 0o600 || len(names(t, dir)) != 1 {
		t.Errorf("%q, %v, %v, %v", text, err, info.Mode(), names(t, dir))
	}

	// What is in the way now was not there when it was checked.
	if err := errors.Join(os.Remove(file), os.Mkdir(file, 0o755)); err != nil {
		t.Fatal(err)
	}
	err = r.Write(&stdout, built())
	if err == nil || Code(err) != CodeOther || !strings.HasSuffix(err.Error(), "; the report is still in Redis: loadctl report x") || len(names(t, dir)) != 1 {
		t.Errorf("%v, %v", err, names(t, dir))
	}
}

// TestReportFiles: each ending is a format, and standard output has what is asked for and is in no file.
func TestReportFiles(t *testing.T) {
	rendered := func(format string) string {
		var want bytes.Buffer
		render, err := render.Format(format)
		if err == nil {
			rep := built()
			rep.Described.ReportedBy = "test"
			err = render(&want, rep)
		}
		if err != nil {
			t.Fatal(err)
		}
		return want.String()
	}
	all := map[string]string{
		"a.txt": "text", "a.json": "json", "a.csv": "csv", "a.hgrm": "hgrm", "a.hlog": "hlog", "a.xml": "junit", "a.md": "markdown", "a.prom": "openmetrics", "A.JSON": "json",
	}
	for _, c := range []struct {
		output string            // -o; "" = not given
		files  map[string]string // with their formats
		stdout string            // its format; "" = nothing
	}{
		{"", all, ""},
		{"", map[string]string{"report": "text"}, ""},
		{"csv", map[string]string{"report": "csv", "a.json": "json"}, ""},
		{"text", map[string]string{"a.json": "json", "a.xml": "junit"}, "text"},
		{"json", map[string]string{"a.json": "json"}, ""},
		{"markdown", nil, "markdown"},
		{"", nil, "text"},
	} {
		dir := t.TempDir()
		var args []string
		if c.output != "" {
			args = append(args, "-o", c.output)
		}
		for name := range c.files {
			args = append(args, "--out", filepath.Join(dir, name))
		}
		r := reportTo(t, "", args...)
		if err := r.Check(); err != nil {
			t.Fatal(err)
		}
		var stdout bytes.Buffer
		if err := r.Write(&stdout, built()); err != nil {
			t.Errorf("%q: %v", args, err)
		}
		want := ""
		if c.stdout != "" {
			want = rendered(c.stdout)
		}
		if stdout.String() != want {
			t.Errorf("%q: on standard output %q, want %s", args, &stdout, c.stdout)
		}
		for name, format := range c.files {
			if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(text) != rendered(format) {
				t.Errorf("%q: %s is no %s: %v, %q", args, name, format, err, text)
			}
		}
		if found := names(t, dir); len(found) != len(c.files) {
			t.Errorf("%q left %q", args, found)
		}
	}
	twice := filepath.Join(t.TempDir(), "x.md")
	if err := reportTo(t, twice, "--out", twice).Check(); err == nil || Code(err) != CodeConfig || !strings.Contains(err.Error(), "is given twice; leave one out") {
		t.Error(err)
	}
}

// TestReportEndings: an ending that stands for no format is refused, unless -o says the format.
func TestReportEndings(t *testing.T) {
	for _, c := range []struct {
		name, output, says string
	}{
		{"fl.pdf", "", "fl.pdf\": no format of the report ends in .pdf; there are .txt .json .csv .hgrm .hlog .xml .md .prom .html .loadctl; or choose one with -o"},
		{"report.json.gz", "", "ends in .gz; there are .txt"},
		{"fl.pdf", "text", ""},
		{"report", "", ""},
		{"report.HTML", "", ""},
	} {
		args := []string{}
		if c.output != "" {
			args = append(args, "-o", c.output)
		}
		err := reportTo(t, filepath.Join(t.TempDir(), c.name), args...).Check()
		if (err != nil) != (c.says != "") || err != nil && (Code(err) != CodeConfig || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("--out %s -o %q: %v, want %q", c.name, c.output, err, c.says)
		}
	}
}

// TestReportFilesFail: a file that is not taken keeps no other from being written. The first is on standard output
// instead, where that is free.
func TestReportFilesFail(t *testing.T) {
	temporary, dir := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", temporary)
	nowhere, good := filepath.Join(dir, "gone"), filepath.Join(dir, "good.csv")
	r := reportTo(t, filepath.Join(nowhere, "b.md"), "--out", filepath.Join(nowhere, "a.json"), "--out", good)
	var stdout bytes.Buffer
	err := r.Write(&stdout, built())
	files := names(t, temporary)
	if err == nil || Code(err) != CodeOther || len(files) != 1 || !strings.HasPrefix(files[0], "b.md.") || !strings.HasPrefix(stdout.String(), "{") {
		t.Fatalf("%v, %q, %q", err, files, &stdout)
	}
	for _, says := range []string{"a.json: no such file or directory; it is on standard output instead", "; it is in " + filepath.Join(temporary, files[0]) + " instead", "; the report is still in Redis: loadctl report x"} {
		if !strings.Contains(err.Error(), says) {
			t.Errorf("no %q in %v", says, err)
		}
	}
	if text, err := os.ReadFile(good); err != nil || !strings.HasPrefix(string(text), "t,asked") {
		t.Errorf("%q, %v", text, err)
	}
}

// refuses is a stdout that takes nothing.
type refuses struct{}

func (refuses) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestReportThatCannotBeWritten(t *testing.T) {
	for _, format := range render.Formats() {
		for says, lost := range map[string]bool{"the report is still in Redis: loadctl report x": false, "the report is lost with the embedded Redis": true} {
			r := reportTo(t, "", "-o", format)
			r.Lost = lost
			err := r.Write(refuses{}, built())
			if err == nil || Code(err) != CodeOther || !strings.Contains(err.Error(), "no space left; "+says) {
				t.Errorf("%s: %v", format, err)
			}
		}
	}
}

// TestReportThatNoFormatTakes: a report that is nowhere else is shown as JSON, which takes what an archive refuses.
func TestReportThatNoFormatTakes(t *testing.T) {
	rep := built()
	rep.DurationS = 1e12 // no archive is of such a run
	for _, args := range [][]string{{"", "-o", "archive"}, {filepath.Join(t.TempDir(), "x.loadctl")}} {
		r := reportTo(t, args[0], args[1:]...)
		r.Lost = true
		var stdout bytes.Buffer
		err := r.Write(&stdout, rep)
		got, unread := archive.ReadJSON(&stdout)
		if err == nil || Code(err) != CodeOther || !strings.HasSuffix(err.Error(), "; the report is on standard output as JSON instead") || strings.Contains(err.Error(), "lost") {
			t.Errorf("%q: %v", args, err)
		}
		if unread == nil || !strings.Contains(unread.Error(), "a run of 1e+12 s") { // it refuses the same
			t.Errorf("%q: %v, %+v", args, unread, got)
		}
	}
}

func TestRedisFlag(t *testing.T) {
	t.Setenv("LOADCTL_REDIS", "")
	for address, ok := range map[string]bool{
		"": true, "redis://h": true, "embedded": true, "embedded:0": true, "embedded:6380": true, "embedded:65535": true,
		"embedded:": false, "embedded:65536": false, "embedded:-1": false, "embedded:+1": false, "embedded:http": false, "embedded:1:2": false, ":6380": true,
	} {
		r := Redis{address: address}
		if err := r.Check(); (err == nil) != ok || Code(err) == CodeOther {
			t.Errorf("%q: %v", address, err)
		}
		if _, embedded := r.Embedded(); embedded != strings.HasPrefix(address, "embedded") && address != "" {
			t.Errorf("%q is embedded: %v", address, embedded)
		} else if embedded && address != "" {
			_, err := r.Connect(t.Context())
			if err == nil || Code(err) != CodeConfig || !strings.Contains(err.Error(), "the server is in a worker, which prints its address") {
				t.Errorf("connecting to %q: %v", address, err)
			}
		}
	}
}

// TestReportGoesElsewhere: where standard output takes nothing either, the report is in the directory for temporary
// files.
func TestReportGoesElsewhere(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	r := reportTo(t, filepath.Join(t.TempDir(), "gone", "report"))
	err := r.Write(refuses{}, built())
	if files := names(t, temporary); err == nil || len(files) != 1 || !strings.Contains(err.Error(), "; it is in "+filepath.Join(temporary, files[0])+" instead; ") {
		t.Errorf("%v, %q", err, files)
	}
	t.Setenv("TMPDIR", filepath.Join(temporary, "gone"))
	if err := r.Write(refuses{}, built()); err == nil || !strings.Contains(err.Error(), "the report is still in Redis: loadctl report x") {
		t.Error(err)
	}
}
