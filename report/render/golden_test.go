package render_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/render"
	"github.com/loadctl/loadctl/report/reporttest"
)

var update = flag.Bool("update", false, "write the golden files in testdata")

// TestGolden asserts what each format says of a run, byte for byte.
func TestGolden(t *testing.T) {
	golden(t, "report", report.Build(reporttest.Run(t)))
}

// TestGoldenPhases asserts the same of a run with first bytes and connections.
func TestGoldenPhases(t *testing.T) {
	golden(t, "phases", report.Build(reporttest.Phased(reporttest.Run(t))))
}

// TestGoldenStreams asserts the same of a run whose answers came in pieces, and had goals.
func TestGoldenStreams(t *testing.T) {
	golden(t, "streams", report.Build(reporttest.Streamed(reporttest.Run(t))))
}

func golden(t *testing.T, file string, r report.Report) {
	t.Helper()
	for _, name := range render.Formats() {
		if file != "report" && name == "hgrm" || file == "phases" && name == "csv" {
			continue // these have latency only
		}
		if name == "hlog" || name == "archive" {
			continue // compressed: equal content may have other bytes; see hdrtools_test.go and archive_test.go
		}
		if name == "html" {
			continue // most of it is script and style; see html_test.go
		}
		t.Run(name, func(t *testing.T) {
			render, err := render.Format(name)
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			if err := render(&got, r); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", file+"."+name)
			if *update {
				if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got.Bytes(), want) {
				t.Errorf("%s differs (go test -update writes it anew):\n%s", path, got.Bytes())
			}
		})
	}
}
