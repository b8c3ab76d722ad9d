package chaos

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// A machine is the time that its processors have worked so far, in ticks. It shows whether a scenario ran on a machine
// that was busy, or whose time went to other machines.
type machine struct{ all, idle, stolen int64 }

// looked reads /proc/stat.
func looked(t testing.TB) machine {
	t.Helper()
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	var n [9]int64 // cpu, user, nice, system, idle, iowait, irq, softirq, steal
	fields := strings.Fields(line)
	for i := 1; i < min(len(fields), len(n)); i++ {
		n[i], _ = strconv.ParseInt(fields[i], 10, 64) // they are digits
	}
	m := machine{idle: n[4] + n[5], stolen: n[8]}
	for _, x := range n {
		m.all += x
	}
	return m
}

// since returns the shares of time in which the machine was busy, and in which other machines had its time, in
// percent.
func (m machine) since(before machine) (busy, stolen float64) {
	all := float64(max(1, m.all-before.all))
	stolen = float64(m.stolen-before.stolen) / all
	busy = 1 - float64(m.idle-before.idle)/all - stolen
	return 100 * busy, 100 * stolen
}
