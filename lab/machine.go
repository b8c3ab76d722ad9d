//go:build linux

package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ticks is the processor time that the machine has spent so far, from /proc/stat.
type ticks struct{ all, stolen int64 }

// readTicks reads the first line of /proc/stat. If it cannot be read, no time counts as stolen.
func readTicks() ticks {
	text, _ := os.ReadFile("/proc/stat")
	return parseTicks(string(text))
}

// parseTicks reads "cpu user nice system idle iowait irq softirq steal guest…". It ignores guest, because user
// includes it.
func parseTicks(text string) ticks {
	line, _, _ := strings.Cut(text, "\n")
	fields := strings.Fields(line)
	var t ticks
	const first, steal = 1, 8
	for i := first; i <= steal && i < len(fields); i++ {
		n, _ := strconv.ParseInt(fields[i], 10, 64)
		t.all += n
		if i == steal {
			t.stolen = n
		}
	}
	return t
}

// steal returns the share of the time between two readings that other machines of the same host took, from 0 to 1.
func (t ticks) steal(now ticks) float64 {
	if now.all == t.all {
		return 0
	}
	return float64(now.stolen-t.stolen) / float64(now.all-t.all)
}

// machine describes in one phrase where the benchmark ran.
func machine() string {
	model, memory := "unknown processor", ""
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		model = field(string(text), "model name", model)
	}
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		if kib, err := strconv.ParseInt(strings.TrimSuffix(field(string(text), "MemTotal", ""), " kB"), 10, 64); err == nil {
			memory = fmt.Sprintf(", %d GiB", (kib+1<<19)>>20)
		}
	}
	kernel := "Linux"
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		kernel = "Linux " + unix.ByteSliceToString(name.Release[:])
	}
	return fmt.Sprintf("%d cores of %s%s, %s, %s/%s, %s, on %s", runtime.NumCPU(), model, memory, kernel, runtime.GOOS, runtime.GOARCH,
		runtime.Version(), time.Now().UTC().Format(time.DateOnly))
}

// field returns the value of the first line "name : value".
func field(text, name, otherwise string) string {
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return otherwise
}
