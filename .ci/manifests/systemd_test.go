package manifests

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

const (
	unitFile = "examples/systemd/loadworker@.service"
	envFile  = "examples/systemd/loadworker.env"
)

func TestSystemd(t *testing.T) {
	good := read(t, unitFile, envFile)
	if err := checkSystemd(good); err != nil {
		t.Error(err)
	}
	refuses(t, good, checkSystemd, []mistake{
		{unitFile, "RestartSec=", "RestartSek=", "Unknown key"},
		{unitFile, "LimitNOFILE=65536", "LimitNOFILE=many", "Failed to parse resource value"},
		{unitFile, "=@system-service", "=@system-servic", "Unknown system call group"},
		{unitFile, "KillSignal=SIGTERM", "KillSignal=TERMINATE", "Failed to parse signal name"},
		{unitFile, "Restart=on-failure", "Restart=sometimes", "Failed to parse service restart specifier"},
		{unitFile, "[Service]", "[Servise]", "Unknown section"},
		{unitFile, "bin/loadworker run", "bin/loadworkers run", "is not executable"},
		{unitFile, "--wait", "--await", "has no flag --await"},
		{unitFile, "${LOADCTL_ALLOW_HOSTS}", "${LOADCTL_HOSTS}", "LOADCTL_HOSTS is not in"},
		{envFile, "LOADCTL_REDIS", "REDIS", "LOADCTL_REDIS is not in"},
		{unitFile, "=/etc/loadctl/loadworker.env", "=/etc/loadctl/worker.env", "reads /etc/loadctl/worker.env"},
		{unitFile, "Restart=on-failure", "Restart=always", "Restart=always"},
		{unitFile, "SuccessExitStatus=105", "", "SuccessExitStatus="},
		{unitFile, "RestartPreventExitStatus=104", "RestartPreventExitStatus=1", "RestartPreventExitStatus=1"},
		{unitFile, "KillSignal=SIGTERM", "KillSignal=SIGKILL", "KillSignal=SIGKILL"},
		{unitFile, "DynamicUser=yes", "", "DynamicUser="},
		{unitFile, "--save-dir %S/loadworker/%i", "", `saves counts in ""`},
		{unitFile, "StateDirectory=loadworker/%i", "StateDirectory=loadworker", "saves counts in"},
		{unitFile, "TimeoutStopSec=60", "TimeoutStopSec=30", "killed after 30s"},
		{unitFile, "NoNewPrivileges=yes\nCapabilityBoundingSet=\n", "NoNewPrivileges=no\nCapabilityBoundingSet=~\n", "Overall exposure level"},
	})
}

func checkSystemd(f files) error {
	unit := settings(f[unitFile])
	env := settings(f[envFile])
	var wrong []error
	for key, want := range map[string]string{
		// The exit codes: 0 and 105 are good, 104 does not get better by trying again.
		"Restart": "on-failure", "SuccessExitStatus": "105", "RestartPreventExitStatus": "104",
		"KillSignal": "SIGTERM", "DynamicUser": "yes",
	} {
		if unit[key] != want {
			wrong = append(wrong, fmt.Errorf("%s=%s, not %s", key, unit[key], want))
		}
	}
	if path.Base(unit["EnvironmentFile"]) != path.Base(envFile) {
		wrong = append(wrong, fmt.Errorf("the unit reads %s, and %s is what there is", unit["EnvironmentFile"], envFile))
	}
	needed := []string{"LOADCTL_REDIS"}
	for _, m := range regexp.MustCompile(`\$\{?(\w+)`).FindAllStringSubmatch(unit["ExecStart"], -1) {
		needed = append(needed, m[1])
	}
	for _, name := range needed {
		if env[name] == "" {
			wrong = append(wrong, fmt.Errorf("%s is not in %s", name, envFile))
		}
	}
	seconds, err := time.ParseDuration(unit["TimeoutStopSec"] + "s")
	wrong = append(wrong, err, checkGrace(seconds), verifyUnit(f[unitFile]))
	if line := commandLine(strings.Fields(unit["ExecStart"])); len(line) > 0 && path.Base(line[0]) == "loadworker" {
		wrong = append(wrong, line.check())
		if saves := line.value("--save-dir"); saves != "%S/"+unit["StateDirectory"] {
			wrong = append(wrong, fmt.Errorf("the worker saves counts in %q, and may write to %%S/%s alone", saves, unit["StateDirectory"]))
		}
	}
	return errors.Join(wrong...)
}

// settings are the lines KEY=VALUE of a unit or an environment file; of two with one key the last.
func settings(text string) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(key, "#") {
			all[key] = value
		}
	}
	return all
}

// exposure is how open a unit may be to attacks, of 100, as systemd-analyze security counts.
const exposure = "20"

// verifyUnit lets systemd read a unit: it ignores what it does not know and ends well, so that any output is an error.
func verifyUnit(text string) error {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		return fmt.Errorf("%w: apt-get install systemd", err)
	}
	dir, err := os.MkdirTemp("", "loadctl-unit-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, path.Base(unitFile))
	// It also looks whether the program is there.
	text = strings.ReplaceAll(text, "/usr/local/bin", image.programs)
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		return err
	}
	out, err := exec.Command(analyze, "verify", "--man=no", name).CombinedOutput()
	if len(out) > 0 {
		err = errors.Join(errors.New(string(out)), err)
	}
	if err != nil {
		return fmt.Errorf("systemd-analyze verify: %w", err)
	}
	out, err = exec.Command(analyze, "security", "--offline=true", "--no-pager", "--threshold="+exposure, name).CombinedOutput()
	if err != nil {
		return fmt.Errorf("systemd-analyze security, at most %s: %w\n%s", exposure, err, out)
	}
	return nil
}
