package render_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/render"
	"github.com/loadctl/loadctl/report/reporttest"
)

// processLog makes HdrHistogram's own tool read a log, and returns the percentile distribution of all intervals
// together.
func processLog(t *testing.T, log []byte) []byte {
	t.Helper()
	const install = "apt-get install libhdrhistogram-java default-jre-headless"
	java, err := exec.LookPath("java")
	if err != nil {
		t.Fatalf("%v: %s", err, install)
	}
	jar := ""
	for _, name := range []string{"hdrhistogram.jar", "HdrHistogram.jar"} {
		if path := filepath.Join("/usr/share/java", name); jar == "" {
			if _, err := os.Stat(path); err == nil {
				jar = path
			}
		}
	}
	if jar == "" {
		t.Fatalf("no HdrHistogram in /usr/share/java: %s", install)
	}
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.hlog"), filepath.Join(dir, "out")
	if err := os.WriteFile(in, log, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(java, "-Duser.language=en", "-cp", jar,
		"org.HdrHistogram.HistogramLogProcessor", "-i", in, "-o", out)
	if message, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, message)
	}
	result, err := os.ReadFile(out + ".hgrm")
	if err != nil {
		t.Fatal(err)
	}
	// The tool puts comments about the range of time before the distribution.
	if i := bytes.Index(result, []byte("       Value")); i > 0 {
		return result[i:]
	}
	return result
}

// HdrHistogram reads from our log the same as our own .hgrm of the merged series: every percentile, mean, maximum and
// total count.
func TestHLogReadByHdrHistogram(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it: it needs Java")
	}
	rng := rand.New(rand.NewPCG(9, 9))
	var s record.Series
	for second := range int64(1_500) {
		part := record.NewSnapshot("w", "i")
		part.Counts.Sent, part.Counts.Completed = 50, 50
		for _, ns := range reporttest.Durations(rng, 50) {
			part.Latency.Record(ns)
		}
		if second%7 > 0 { // holes
			s.Add(second*1e6, part)
		}
	}
	r := report.Build(report.Input{StartedAt: time.UnixMilli(1_767_323_045_678), Workers: []report.WorkerInput{{Series: s.Points()}}})
	var log bytes.Buffer
	if err := render.HLog(&log, r); err != nil {
		t.Fatal(err)
	}
	all := &record.Histogram{Digits: record.SeriesDigits}
	for _, p := range r.Histograms.Series {
		all.Merge(p.Latency)
	}
	sameLines(t, render.PercentileDistribution(all), processLog(t, log.Bytes()))
}

// The same at full precision, which is what HGRM writes.
func TestHGRMEqualsHdrHistogram(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it: it needs Java")
	}
	rng := rand.New(rand.NewPCG(10, 10))
	total := record.NewSnapshot("w", "i")
	for _, ns := range reporttest.Durations(rng, 200_000) {
		total.Latency.Record(ns)
	}
	r := report.Build(report.Input{Workers: []report.WorkerInput{{Total: total}}})
	var log, hgrm bytes.Buffer
	render.WriteLogHeader(&log, time.Unix(1_767_323_045, 0))
	if err := render.WriteLogInterval(&log, "", 0, 1, r.Histograms.Latency); err != nil {
		t.Fatal(err)
	}
	if err := render.HGRM(&hgrm, r); err != nil {
		t.Fatal(err)
	}
	sameLines(t, hgrm.Bytes(), processLog(t, log.Bytes()))
}

// sameLines compares two texts word by word; see sameWord.
func sameLines(t *testing.T, got, want []byte) {
	t.Helper()
	g, w := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	if len(w) < 50 || len(g) != len(w) {
		t.Fatalf("%d lines, HdrHistogram has %d:\n%s", len(g), len(w), want)
	}
	for i := range w {
		ours, theirs := strings.Fields(g[i]), strings.Fields(w[i])
		if len(ours) != len(theirs) {
			t.Fatalf("line %d: %q, HdrHistogram has %q", i+1, g[i], w[i])
		}
		for j := range theirs {
			if !sameWord(strings.Trim(ours[j], ",]"), strings.Trim(theirs[j], ",]")) {
				t.Fatalf("line %d: %q, HdrHistogram has %q", i+1, g[i], w[i])
			}
		}
	}
}

// sameWord says that two words are equal or, with decimals, differ by at most one in the last decimal of theirs: Java
// rounds halves up, and prints as many decimals as the histogram has significant digits.
func sameWord(ours, theirs string) bool {
	_, decimals, ok := strings.Cut(theirs, ".")
	if !ok || ours == theirs {
		return ours == theirs
	}
	x, err := strconv.ParseFloat(ours, 64)
	y, err2 := strconv.ParseFloat(theirs, 64)
	return err == nil && err2 == nil && math.Abs(x-y) < 1.001*math.Pow10(-len(decimals))
}
