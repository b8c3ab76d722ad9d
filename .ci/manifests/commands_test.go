package manifests

import (
	"fmt"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// commandLine is a call of a program: its name, or path, and its arguments.
type commandLine []string

// check compares the command line with the help of the program: there must be such a command, and each flag.
func (c commandLine) check() error {
	name := path.Base(c[0])
	if !slices.Contains(programs(), name) {
		return fmt.Errorf("%q: %s is not in the image", c, c[0])
	}
	usage, args := name, c[1:]
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		usage, args = usage+" "+args[0], args[1:]
	}
	help, err := exec.Command(image.program(name), append(strings.Fields(usage)[1:], "--help")...).Output()
	if err != nil {
		return fmt.Errorf("%q: %s --help: %w", c, usage, err)
	}
	// Help about a command that there is not is help about the program.
	if !regexp.MustCompile(`(?m)^  ` + regexp.QuoteMeta(usage) + `( |$)`).Match(help) {
		return fmt.Errorf("%q: there is no command %s", c, usage)
	}
	var known []string
	for _, m := range regexp.MustCompile(`(?m)^ +(?:(-\w), )?(--[a-z][a-z-]*)`).FindAllStringSubmatch(string(help), -1) {
		known = append(known, m[1:]...)
	}
	for _, arg := range args {
		flag, _, _ := strings.Cut(arg, "=")
		if strings.HasPrefix(arg, "-") && !slices.Contains(known, flag) {
			return fmt.Errorf("%q: %s has no flag %s", c, usage, flag)
		}
	}
	return nil
}

// value is what is given for a flag, "" if it is not there.
func (c commandLine) value(flag string) string {
	for i, arg := range c {
		if value, ok := strings.CutPrefix(arg, flag+"="); ok {
			return value
		}
		if arg == flag && i+1 < len(c) {
			return c[i+1]
		}
	}
	return ""
}

// runs is the name of the run that a command is about: RUN of loadctl run, --run of loadworker run.
func (c commandLine) runs() string {
	if path.Base(c[0]) == "loadworker" {
		return c.value("--run")
	}
	if len(c) > 2 && c[1] == "run" {
		return c[2]
	}
	return ""
}

func TestCommandLines(t *testing.T) {
	for _, c := range []struct {
		line commandLine
		says string
	}{
		{commandLine{"loadctl"}, ""},
		{commandLine{"loadctl", "--version"}, ""},
		{commandLine{"/usr/local/bin/loadworker", "run", "--run", "x", "--wait"}, ""},
		{commandLine{"loadctl", "run", "x", "--qps=1", "-o", "json"}, ""},
		{commandLine{"loadctl", "nonsense"}, "there is no command loadctl nonsense"},
		{commandLine{"loadctl", "set"}, "there is no command loadctl set"},
		{commandLine{"loadworker", "run", "--runs", "x"}, "loadworker run has no flag --runs"},
		{commandLine{"loadctl", "run", "x", "-z"}, "loadctl run has no flag -z"},
		{commandLine{"sh", "-c", "loadctl"}, "sh is not in the image"},
	} {
		err := c.line.check()
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: want %q, got %v", c.line, c.says, err)
		}
	}
}

// checkFleet checks that a run and the workers that are to join it fit: the same name, hosts that are allowed, enough
// workers.
func checkFleet(control, worker commandLine, workers int) error {
	if control.runs() == "" || control.runs() != worker.runs() {
		return fmt.Errorf("the run is %q, and the workers join %q", control.runs(), worker.runs())
	}
	if needed := control.value("--min-workers"); needed != fmt.Sprint(workers) {
		return fmt.Errorf("the run waits for %s workers, and there are %d", needed, workers)
	}
	host := regexp.MustCompile(`^https?://([^/]+)`).FindStringSubmatch(control.value("--url"))
	if host == nil || !slices.Contains(strings.Split(worker.value("--allow-hosts"), ","), host[1]) {
		return fmt.Errorf("the run fires at %q, and the workers at nothing but %q", control.value("--url"), worker.value("--allow-hosts"))
	}
	return nil
}

// checkRedis checks the settings without which a run may be lost.
func checkRedis(c commandLine) error {
	for flag, want := range map[string]string{"--maxmemory-policy": "noeviction", "--appendonly": "yes"} {
		if got := c.value(flag); got != want {
			return fmt.Errorf("redis-server runs with %s %q, not %s", flag, got, want)
		}
	}
	return nil
}

// checkGrace checks that a worker is given the time it needs to end.
func checkGrace(grace time.Duration) error {
	if grace < drain {
		return fmt.Errorf("a worker is killed after %v, and may need %v", grace, drain)
	}
	return nil
}
