//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A process is a child that runs on one core and dies with this program.
type process struct {
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
	done           chan struct{} // closed when the process has ended
	err            error         // how it ended; valid once done is closed
}

// spawn starts a program on a core. If prepare is not nil, it may change the command first. The process dies with the
// calling thread, so call spawn on a thread that lasts.
func spawn(core int, argv []string, prepare func(*exec.Cmd)) (*process, error) {
	p := &process{done: make(chan struct{})}
	p.cmd = exec.Command("taskset", append([]string{"-c", strconv.Itoa(core)}, argv...)...)
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if prepare != nil {
		prepare(p.cmd)
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", argv[0], err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// await waits for the end of the process, and kills it after patience.
func (p *process) await(ctx context.Context, patience time.Duration) error {
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-p.done:
	case <-late.C:
		p.kill()
		return fmt.Errorf("still running after %v; its last words: %s", patience, p.lastWords())
	case <-ctx.Done():
		p.kill()
		return ctx.Err()
	}
	if p.err != nil {
		return fmt.Errorf("%w: %s", p.err, p.lastWords())
	}
	return nil
}

// kill kills the process if it still runs, and waits for its end.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // the only possible error is that it has already ended
	<-p.done
}

// lastWords returns the last line of standard error; if that is empty, the last line of standard output. The process has
// ended.
func (p *process) lastWords() string {
	text := strings.TrimSpace(p.stderr.String())
	if text == "" {
		text = strings.TrimSpace(p.stdout.String())
	}
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// memory returns the sum of the peak memory of processes so far, in bytes. The peak that wait4 reports is useless: it
// starts with the memory that this program held when it started them.
func memory(all []*process) (int64, error) {
	var sum int64
	for _, p := range all {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
		if err != nil {
			return 0, fmt.Errorf("read the memory of a process: %w", err)
		}
		kib, err := strconv.ParseInt(strings.TrimSuffix(field(string(text), "VmHWM", ""), " kB"), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read the memory of a process: %w", err)
		}
		sum += kib << 10
	}
	return sum, nil
}

// cpu returns the processor time that a process has used so far, including threads that have ended. The kernel counts
// it to the nanosecond. wait4 would return it only at the end, and would include the start of the process.
func cpu(pid int) (time.Duration, error) {
	// clock_getcpuclockid(3) makes the id of the clock from the id of the process. 2 is the scheduler's clock.
	const scheduler = 2
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|scheduler), &t); err != nil {
		return 0, fmt.Errorf("read the processor time of process %d: %w", pid, err)
	}
	return time.Duration(t.Nano()), nil
}

// raiseDescriptors allows this process and its children as many open files as the system permits.
func raiseDescriptors() error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	limit.Cur = limit.Max
	return unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)
}

// needCores returns an error if this process may not use both cores.
func needCores() error {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return err
	}
	if !set.IsSet(serverCore) || !set.IsSet(clientCore) {
		return errors.New("this needs two cores, 0 and 1: one for the endpoint, one for what fires at it")
	}
	return nil
}

// self returns the path of this program.
func self() (string, error) { return os.Executable() }
