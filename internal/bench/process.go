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

// A process runs on one core and dies with this program.
type process struct {
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
	done           chan struct{} // closed when it has ended
	err            error         // how, once done is closed
}

// spawn starts a program on a core. prepare, if not nil, may change the command before. Call it on a thread that lasts.
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

// kill ends the process, if it has not ended, and waits for that.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // the only error is: it has ended
	<-p.done
}

// lastWords is the last line on standard error, or else on standard output.
func (p *process) lastWords() string {
	text := strings.TrimSpace(p.stderr.String())
	if text == "" {
		text = strings.TrimSpace(p.stdout.String())
	}
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// memory is the most memory that processes held so far, in bytes. That of wait4 would not do: it begins with what this
// program held when it started them.
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

// cpu is the processor time that a process has used so far, with all its threads, those that ended too. It is the kernel's
// sum to the nanosecond; wait4 would only tell it at the end, with the start of the process in it.
func cpu(pid int) (time.Duration, error) {
	// The id of the clock is made of the process's, see clock_getcpuclockid(3); 2 is that of the scheduler.
	const scheduler = 2
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|scheduler), &t); err != nil {
		return 0, fmt.Errorf("read the processor time of process %d: %w", pid, err)
	}
	return time.Duration(t.Nano()), nil
}

// raiseDescriptors allows this process, and those that it starts, as many open files as the system lets it.
func raiseDescriptors() error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	limit.Cur = limit.Max
	return unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)
}

// needCores says whether there are cores enough, of those that this process may use.
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

// self is the path of this program.
func self() (string, error) { return os.Executable() }
