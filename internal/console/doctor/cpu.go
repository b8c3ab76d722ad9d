package doctor

import (
	"fmt"
	"io/fs"
	"path"
	"runtime"
	"strconv"
	"strings"
)

// cores checks the number of cores: a worker has a loop on each, and needs some time for other work.
func cores(machine) Finding { return judgeCores(runtime.GOMAXPROCS(0)) }

func judgeCores(n int) Finding {
	if n < 2 {
		return warn("1: other work on this machine makes requests late", "use a machine with 2 or more cores")
	}
	return ok(strconv.Itoa(n))
}

// cpuLimit checks the CPU limit: a container that has used its share stands still until the next period begins, usually
// 100 ms.
func cpuLimit(m machine) Finding {
	limit, limited := cgroupLimit(m.files)
	if !limited {
		return ok("none")
	}
	return judgeCPULimit(limit, runtime.GOMAXPROCS(0))
}

func judgeCPULimit(limit float64, threads int) Finding {
	cpus := strconv.FormatFloat(limit, 'f', -1, 64) + " CPUs"
	if limit < float64(threads) {
		return warn(fmt.Sprintf("%s for %d threads: when the limit is used up, nothing is sent for a while", cpus, threads),
			fmt.Sprintf("raise the limit of the container to %d CPUs or more", threads))
	}
	return ok(cpus)
}

// cgroupLimit returns the lowest limit of this process' control group and those above it (version 2).
func cgroupLimit(files fs.FS) (cpus float64, limited bool) {
	text, err := fs.ReadFile(files, "proc/self/cgroup")
	if err != nil {
		return 0, false
	}
	group := "/"
	for line := range strings.Lines(string(text)) {
		if own, is := strings.CutPrefix(line, "0::"); is {
			group = path.Clean("/" + strings.TrimSpace(own))
		}
	}
	for ; ; group = path.Dir(group) {
		if quota, known := cpuMax(files, group); known && (!limited || quota < cpus) {
			cpus, limited = quota, true
		}
		if group == "/" {
			return cpus, limited
		}
	}
}

// cpuMax reads cpu.max: the quota and the period in µs, or "max" for no quota.
func cpuMax(files fs.FS, group string) (cpus float64, limited bool) {
	text, err := fs.ReadFile(files, path.Join("sys/fs/cgroup", group, "cpu.max"))
	if err != nil {
		return 0, false
	}
	var quota, period float64
	if _, err := fmt.Sscan(string(text), &quota, &period); err != nil || period <= 0 {
		return 0, false
	}
	return quota / period, true
}
