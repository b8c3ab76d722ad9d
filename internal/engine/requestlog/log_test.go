package requestlog

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/targets"
)

// result returns the i-th request of a test.
func result(i int) targets.Result {
	r := targets.Result{
		Call: targets.Call{Number: uint64(i), Step: i % 2}, Due: base + int64(i)*1_000_003, Connection: int64(i%7 + 1), Reused: i%3 == 0,
		Outcome: targets.Outcome{Status: 200, BytesIn: int64(100 + i), BytesOut: 50},
	}
	r.Sent, r.First, r.Done = r.Due+10, r.Due+1000, r.Due+2000
	if i%5 == 0 {
		r.First, r.Outcome.Status, r.Outcome.Class = 0, 0, `check json "a", b`
	}
	return r
}

// base is a time of the local clock.
const base = int64(1_700_000_000_987_654_321)

// steps are names that need quotes in both formats.
var steps = []string{`say "hi", ünder`, "pay"}

// want returns the line of a request, column by column.
func want(i int) []string {
	r := result(i)
	at := func(ns int64) string {
		if ns == 0 {
			return ""
		}
		return time.Unix(0, ns).UTC().Format("2006-01-02T15:04:05.000000000Z")
	}
	n := func(n int64) string { return strconv.FormatInt(n, 10) }
	return []string{
		fmt.Sprint(i), steps[i%2], at(r.Due), at(r.Sent), at(r.First), at(r.Done), n(int64(r.Outcome.Status)), r.Outcome.Class,
		n(r.Outcome.BytesIn), n(r.Outcome.BytesOut), n(r.Connection), fmt.Sprint(r.Reused), "2000", fmt.Sprintf("t%d", i),
	}
}

// options are those of most tests. The clocks agree, as before the first reply of Redis.
func options(parts int) Options {
	return Options{Parts: parts, Clock: pacer.NewClock(), Steps: steps, Trace: func(b []byte, n uint64) []byte { return fmt.Appendf(b, "t%d", n) }}
}

// rows reads a file with readers that are not of this package. JSON becomes the columns of CSV.
func rows(t *testing.T, path string) (all [][]string) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var text io.Reader = file
	name := path
	if before, ok := strings.CutSuffix(path, ".zst"); ok {
		d, err := zstd.NewReader(file)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		text, name = d, before
	}
	if filepath.Ext(name) == ".csv" {
		all, err = csv.NewReader(text).ReadAll()
		if err != nil || len(all) == 0 || strings.Join(all[0], ",") != columns {
			t.Fatalf("%v in %q", err, all)
		}
		return all[1:]
	}
	d := json.NewDecoder(text)
	d.UseNumber()
	for {
		var row []string
		var line map[string]any
		if err := d.Decode(&line); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		for name := range strings.SplitSeq(columns, ",") {
			value, there := line[name]
			if !there {
				t.Fatalf("%s is missing in %v", name, line)
			}
			if value == nil {
				value = ""
			}
			row = append(row, fmt.Sprint(value))
		}
		if len(row) != len(line) {
			t.Fatalf("more members than columns: %v", line)
		}
		all = append(all, row)
	}
}

// names are file names of all formats.
var names = []string{"a.csv", "a.jsonl", "a.csv.zst", "a.jsonl.zst"}

// TestLines: each format has each request once, with what it was.
func TestLines(t *testing.T) {
	for _, name := range names {
		path := filepath.Join(t.TempDir(), name)
		l, err := Create(path)
		if err != nil {
			t.Fatal(err)
		}
		l.Start(options(2))
		const n = 9000
		for i := range n {
			l.Add(i%2, result(i))
		}
		if sum := l.Close(); sum != (Sum{Path: path, Started: true, Written: n}) {
			t.Errorf("%s: %+v", name, sum)
		}
		got := rows(t, path)
		slices.SortFunc(got, func(a, b []string) int {
			x, _ := strconv.Atoi(a[0])
			y, _ := strconv.Atoi(b[0])
			return x - y
		})
		if len(got) != n {
			t.Fatalf("%s: %d lines", name, len(got))
		}
		for i, row := range got {
			if !slices.Equal(row, want(i)) {
				t.Fatalf("%s: got %q, want %q", name, row, want(i))
			}
		}
	}
}

// TestFlush: a file that nobody closes has what was added, and can be read.
func TestFlush(t *testing.T) {
	for _, name := range names {
		path := filepath.Join(t.TempDir(), name)
		l, err := Create(path)
		if err != nil {
			t.Fatal(err)
		}
		l.Start(options(1))
		for i := range 10 {
			l.Add(0, result(i))
		}
		await.True(t, "lines in the file", func() bool { return l.written.Load() == 10 })
		copied := filepath.Join(t.TempDir(), name)
		data, _ := os.ReadFile(path)
		if err := os.WriteFile(copied, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := rows(t, copied); len(got) != 10 {
			t.Errorf("%s: %d lines", name, len(got))
		}
		l.Close()
	}
}

// gate is a file that takes nothing until it is opened. Then it has some room.
type gate struct {
	open  chan struct{}
	room  int // bytes; negative = without end
	mu    sync.Mutex
	bytes bytes.Buffer
}

func (g *gate) Write(b []byte) (int, error) {
	<-g.open
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.room >= 0 && g.bytes.Len()+len(b) > g.room {
		return 0, &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}
	}
	return g.bytes.Write(b)
}

// TestOverload: while the file takes nothing, Add goes on, and what finds no room is counted exactly.
func TestOverload(t *testing.T) {
	f, _ := formatOf("a.csv")
	g := &gate{open: make(chan struct{}), room: -1}
	l := &Log{path: "a.csv", format: f, file: g}
	l.Start(options(2))
	const n = 200_000
	var producers sync.WaitGroup
	for part := range 2 {
		producers.Go(func() {
			for i := range n {
				l.Add(part, result(i))
			}
		})
	}
	producers.Wait() // they end although nothing can be written
	close(g.open)
	sum := l.Close()
	if sum.Written+sum.LeftOut != 2*n || sum.Written < mostWaiting || sum.LeftOut < 2*n-2*mostWaiting || sum.Failure != nil {
		t.Errorf("%+v", sum)
	}
	if lines := int64(bytes.Count(g.bytes.Bytes(), []byte("\n"))) - 1; lines != sum.Written {
		t.Errorf("%d lines, and it says %d", lines, sum.Written)
	}
}

// TestFullDisk: the log stops with one message, the lines that are there are whole, and all others count as left out.
func TestFullDisk(t *testing.T) {
	for _, room := range []int{0, 10_000, 2 * pageBytes} {
		f, _ := formatOf("a.jsonl")
		g := &gate{open: make(chan struct{}), room: room}
		close(g.open)
		l := &Log{path: "a.jsonl", format: f, file: g}
		o := options(1)
		var told atomic.Int64
		stopped := make(chan struct{})
		o.Stopped = func(error) {
			told.Add(1)
			close(stopped)
		}
		l.Start(o)
		n := 0
		for ended := false; !ended; n++ {
			l.Add(0, result(n))
			select {
			case <-stopped:
				ended = true
			default:
			}
		}
		for range 1000 {
			l.Add(0, result(n))
			n++
		}
		sum := l.Close()
		lines := int64(bytes.Count(g.bytes.Bytes(), []byte("\n")))
		if sum.Written != lines || sum.Written+sum.LeftOut != int64(n) || sum.LeftOut < 1000 || told.Load() != 1 || fmt.Sprint(sum.Failure) != "no space left on the device" {
			t.Errorf("room for %d bytes: %+v, %d lines of %d, told %d times", room, sum, lines, n, told.Load())
		}
	}
}

// TestCreate: what cannot be written is an error of one line, and nothing is overwritten or left behind.
func TestCreate(t *testing.T) {
	dir := t.TempDir()
	there := filepath.Join(dir, "there.csv")
	if err := os.WriteFile(there, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, says := range map[string]string{
		"":                                  "has no ending that is known; give a name that ends with .jsonl, .csv, .jsonl.zst or .csv.zst",
		"x":                                 "has no ending",
		"x.txt":                             "has no ending",
		"x.zst":                             "has no ending",
		"x.csv.gz":                          "has no ending",
		there:                               "is there already; give the path of a new file, or remove it",
		filepath.Join(dir, "no", "x.csv"):   "no such file or directory; give a new file in a directory that is there",
		filepath.Join(there, "x.jsonl.zst"): "not a directory",
	} {
		if _, err := Create(path); err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", path, err)
		}
	}
	if text, err := os.ReadFile(there); string(text) != "precious" {
		t.Errorf("%q, %v", text, err)
	}
	l, err := Create(filepath.Join(dir, "new.csv"))
	if err != nil {
		t.Fatal(err)
	}
	if sum := l.Close(); sum.Started {
		t.Errorf("%+v", sum)
	}
	if _, err := os.Stat(filepath.Join(dir, "new.csv")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a log that was not started left a file: %v", err)
	}
}

// TestAddAllocatesNothing counts allocations of a shard.
func TestAddAllocatesNothing(t *testing.T) {
	clock, g, r := pacer.NewClock(), newRing(1<<10), result(1)
	l := &Log{rings: []*ring{g}, options: Options{Clock: clock}}
	if n := testing.AllocsPerRun(2000, func() { l.Add(0, r) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if g.added() != 2001 {
		t.Errorf("%d added", g.added())
	}
}

// BenchmarkAdd measures what a shard pays, and BenchmarkLine what the writer does for a line.
func BenchmarkAdd(b *testing.B) {
	clock, g, r := pacer.NewClock(), newRing(1<<12), result(1)
	l := &Log{rings: []*ring{g}, options: Options{Clock: clock}}
	for b.Loop() {
		l.Add(0, r)
		g.taken.Store(g.put.Load())
	}
}

func BenchmarkLine(b *testing.B) {
	for _, name := range names[:2] {
		f, _ := formatOf(name)
		b.Run(name, func(b *testing.B) {
			w := lineWriter{steps: steps}
			g := newRing(1)
			r := result(1)
			g.add(&r, pacer.NewClock())
			buffer := make([]byte, 0, 4096)
			for b.Loop() {
				buffer = f.line(&w, buffer[:0], &g.slots[0])
			}
			b.SetBytes(int64(len(buffer)))
		})
	}
}
