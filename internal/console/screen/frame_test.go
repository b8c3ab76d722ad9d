package screen

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/charmbracelet/x/ansi"

	"github.com/loadctl/loadctl/internal/fleet/results"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/reporttest"
)

var update = flag.Bool("update", false, "write the golden files")

// tenMinutes is a screen that shows a run after so many seconds of ten minutes.
func tenMinutes(t *testing.T, seconds int64, width, height int) *Screen {
	t.Helper()
	rep := report.Build(reporttest.TenMinutes(t, seconds))
	rep.Running = true
	s := &Screen{options: Options{Run: "checkout", Quit: "leave", Give: nil}, width: width, height: height, orders: make(chan Order, mostOrders)}
	pulses := map[string]results.Pulse{}
	var workers []run.Worker
	var active int64
	for i, w := range rep.Workers {
		if w.State == "active" {
			active++
		}
		workers = append(workers, run.Worker{ID: w.ID, Incarnation: w.Incarnation, State: w.State, Weight: 1})
		pulses[w.ID+"/"+w.Incarnation] = results.Pulse{End: 1_003_000, Sent: 113 + int64(i%3), LagP99NS: 180_000 + int64(i)*1100}
	}
	state := &run.State{Run: "checkout", Phase: "running", Rate: 800, RateThen: 800, Members: active, StartedAt: rep.StartedAt, Workers: workers}
	s.Show(results.Look{
		Progress: results.Progress{
			State: state, At: rep.StartedAt.Add(time.Duration(seconds) * time.Second), AskedAt: rep.Asked, Latency: record.NewHistogram(), InFlight: 12,
			Counts: record.Counts{Sent: rep.Sent, Completed: rep.Audit.Completed, Failed: rep.Audit.Failed, LateDropped: rep.Audit.LateDropped},
		},
		Report: rep,
		Pulses: pulses,
	})
	return s
}

// TestFrames: frames of two sizes, without their styles, are as in testdata. docs/live.md shows the smaller one.
func TestFrames(t *testing.T) {
	t.Parallel()
	s := tenMinutes(t, 300, 0, 0)
	for _, size := range [][2]int{{80, 24}, {200, 60}} {
		s.resize(size[0], size[1])
		v := s.view()
		v.readOnly = false
		got := ""
		for _, line := range v.full() {
			got += strings.TrimRight(ansi.Strip(line), " ") + "\n"
		}
		file := filepath.Join("testdata", fmt.Sprintf("%dx%d.txt", size[0], size[1]))
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil || got != string(want) {
			t.Errorf("%v: %v; go test ./internal/console/screen -run TestFrames -update accepts\n%s", size, err, got)
		}
		page, err := os.ReadFile("../../../docs/live.md")
		if size[0] == 80 && (err != nil || !strings.Contains(string(page), got)) {
			t.Errorf("docs/live.md does not show the frame of 80x24.txt: %v", err)
		}
	}
}

// TestFrameFits: a frame of any size has exactly its rows, and no line is wider than the terminal.
func TestFrameFits(t *testing.T) {
	t.Parallel()
	s := tenMinutes(t, 300, 0, 0)
	step := 1
	if testing.Short() {
		step = 7
	}
	for width := 0; width < 170; width += step {
		for height := 1; height < 70; height += 3 {
			s.resize(width, height)
			lines := s.view().full()
			if len(lines) != height {
				t.Fatalf("%d×%d: %d lines", width, height, len(lines))
			}
			for _, line := range append(lines, s.view().last()...) {
				if n := ansi.StringWidth(line); n > width {
					t.Fatalf("%d×%d: %d columns: %q", width, height, n, line)
				}
			}
		}
	}
}

// TestFirstBytesHaveALine asserts that first bytes stand between latency and lag if there are any.
func TestFirstBytesHaveALine(t *testing.T) {
	t.Parallel()
	s := tenMinutes(t, 300, 120, 40)
	frame := func() string { return ansi.Strip(strings.Join(s.view().full(), "\n")) }
	if strings.Contains(frame(), "1st byte") {
		t.Errorf("first bytes of nothing:\n%s", frame())
	}
	s.look.Report.FirstBytes, s.look.Report.FirstByte = 3, record.Distribution{P50: 4_200_000, P99: 7_300_000}
	latency, byteLine, lag := strings.Index(frame(), "latency "), strings.Index(frame(), "1st byte   p50 4.20ms"), strings.Index(frame(), "lag ")
	if latency < 0 || byteLine < latency || lag < byteLine || !strings.Contains(frame(), "7.30ms") {
		t.Errorf("places %d, %d, %d in\n%s", latency, byteLine, lag, frame())
	}
}

// TestStreamsHaveLines asserts that events and goodput stand between latency and lag if there are any.
func TestStreamsHaveLines(t *testing.T) {
	t.Parallel()
	s := tenMinutes(t, 300, 120, 40)
	frame := func() string { return ansi.Strip(strings.Join(s.view().full(), "\n")) }
	for _, word := range []string{"1st evt", "gap ", "goodput"} {
		if strings.Contains(frame(), word) {
			t.Errorf("%s of nothing:\n%s", word, frame())
		}
	}
	s.look.Report.Streams = report.Streams{Answers: 3, FirstEvent: record.Distribution{P50: 4_200_000}, EventGap: record.Distribution{P99: 7_300_000}}
	s.look.Report.Goodput = report.Goodput{Judged: 4, Good: 3, Rate: 1.5, Share: 0.75}
	last := strings.Index(frame(), "latency ")
	for _, text := range []string{"1st evt    p50 4.20ms", "p99 7.30ms", "1.5/s  75.00 % of 4 met their goals", "lag "} {
		at := strings.Index(frame(), text)
		if at < last {
			t.Errorf("%s is at %d in\n%s", text, at, frame())
		}
		last = at
	}
}

// TestHostileText: no text of a run controls the terminal. Only styles are in a frame.
func TestHostileText(t *testing.T) {
	t.Parallel()
	const evil = "\x1b]0;title\ab\x1b[2J\u009b31m\r\n\t\b\x00\x7f\u202e\u2066\u200b\ufeff\u2028\U000e0041\x9b\xff"
	s := tenMinutes(t, 300, 200, 60)
	look := *s.look
	look.Phase, look.Limiter = evil, evil
	rep := &look.Report
	rep.Errors = map[string]int64{evil: 3}
	rep.Events = []report.Event{{At: rep.StartedAt, Kind: evil, Who: evil, What: evil}}
	rep.Steps = []report.StepReport{{Name: evil}}
	rep.Thresholds[0].Threshold, rep.Thresholds[0].Text = evil, evil
	for i := range rep.Workers {
		w := &rep.Workers[i]
		w.ID, w.State, w.Verdicts = evil, evil, []record.Verdict{{Text: evil}}
	}
	s.options.Run = evil
	s.Show(look)
	s.show(evil, true)
	fmt.Fprintln(s, evil)
	for _, trouble := range []string{"", evil} {
		if trouble != "" {
			s.Trouble(trouble)
		}
		for _, line := range slices.Concat(s.view().full(), s.view().last()) {
			plain := stripStyles(line)
			if bad := strings.IndexFunc(plain, func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }); bad >= 0 {
				t.Errorf("%q", plain[bad:])
			}
		}
	}
}

// stripStyles removes ESC [ digits m, and nothing else.
func stripStyles(line string) string {
	parts := strings.Split(line, "\x1b[")
	for i, part := range parts[1:] {
		if digits := strings.TrimLeft(part, "0123456789;"); strings.HasPrefix(digits, "m") {
			parts[i+1] = digits[1:]
		} else {
			parts[i+1] = "\x1b[" + part
		}
	}
	return strings.Join(parts, "")
}

// TestNothingKnown: before the first look there is a frame too, and it says why.
func TestNothingKnown(t *testing.T) {
	t.Parallel()
	s := &Screen{options: Options{Run: "checkout", Quit: "leave"}, width: 80, height: 24}
	s.Trouble("Redis does not answer")
	text := strings.Join(s.view().full(), "\n")
	if !strings.Contains(text, "checkout") || !strings.Contains(text, "Redis does not answer") || !strings.Contains(text, "q\x1b[m leave") {
		t.Errorf("%q", text)
	}
}
