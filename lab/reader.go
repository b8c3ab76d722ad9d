//go:build linux

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/loadctl/loadctl/report"
)

// reads returns how long a command of loadctl takes, in seconds.
func (t *throng) reads(command string) (float64, error) {
	began := time.Now()
	_, err := t.says(command)
	return time.Since(began).Seconds(), err
}

// says returns what a command of loadctl prints.
func (t *throng) says(command string) ([]byte, error) {
	out, err := exec.Command(t.loadctl, command, t.name, "-o", "json", "--redis", t.redis).Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("loadctl %s: %w: %s", command, err, exit.Stderr)
	}
	return out, err
}

// report returns the report of the run so far. That of a run that is over may be INCOMPLETE: the command then exits with 1,
// and prints it all the same.
func (t *throng) report() (r report.Report, err error) {
	out, err := t.says("report")
	if len(out) == 0 {
		return r, err
	}
	return r, json.Unmarshal(out, &r)
}

// watches returns how long loadctl watch takes until it shows the state of the run, in seconds.
func (t *throng) watches() (float64, error) {
	cmd := exec.Command(t.loadctl, "watch", t.name, "--redis", t.redis)
	out, err := cmd.StderrPipe()
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	lines := bufio.NewScanner(out)
	shown := false
	for !shown && lines.Scan() {
		shown = strings.Contains(lines.Text(), "sent")
	}
	took := time.Since(began).Seconds()
	_ = cmd.Process.Kill() // it would run until the end of the run
	_ = cmd.Wait()
	if !shown && lines.Err() == nil {
		return 0, errors.New("loadctl watch ended and showed nothing")
	}
	return took, lines.Err()
}
