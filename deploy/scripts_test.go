package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestScripts: what the scripts of the packages ask of systemd, for each argument that dpkg and rpm call them with. They end
// well also if systemd refuses, since a package whose script fails can neither be installed nor removed.
func TestScripts(t *testing.T) {
	t.Parallel()
	const reload, stop = "daemon-reload\n", "stop loadworker@*.service\n"
	for _, c := range []struct{ script, argument, asks string }{
		{"postinstall", "configure", reload}, {"postinstall", "1", reload}, {"postinstall", "2", reload},
		{"preremove", "remove", stop}, {"preremove", "0", stop},
		{"preremove", "upgrade", ""}, {"preremove", "1", ""}, {"preremove", "deconfigure", ""},
		{"postremove", "remove", reload}, {"postremove", "purge", reload}, {"postremove", "upgrade", reload}, {"postremove", "0", reload}, {"postremove", "1", reload},
	} {
		name := c.script + " " + c.argument
		if asked, saved := runScript(t, c.script, c.argument, true, false); asked != c.asks || saved == (c.argument == "purge") {
			t.Errorf("%s asks systemd %q, want %q; what workers have saved is there: %v", name, asked, c.asks, saved)
		}
		if asked, _ := runScript(t, c.script, c.argument, false, false); asked != "" {
			t.Errorf("%s asks systemd %q, which does not run", name, asked)
		}
		if asked, saved := runScript(t, c.script, c.argument, true, true); asked != "" || saved == (c.argument == "purge") {
			t.Errorf("%s in another root asks the systemd of this one %q; what workers have saved is there: %v", name, asked, saved)
		}
	}
}

// runScript runs a script on a machine that is a folder, with a systemctl that takes notes and fails. It returns the notes,
// and whether what workers have saved is still there. chrootless is as dpkg installs into another root.
func runScript(t *testing.T, script, argument string, systemd, chrootless bool) (asked string, saved bool) {
	t.Helper()
	dir := t.TempDir()
	text := written(t, filepath.Join("packages", script+".sh"))
	text = strings.NewReplacer("/run/systemd", dir+"/run/systemd", `"$DPKG_ROOT/var`, `"`+dir+`/$DPKG_ROOT/var`).Replace(text)
	root := ""
	if chrootless {
		root = "other"
	}
	folders := []string{"bin", filepath.Join(root, "var/lib/loadworker"), filepath.Join(root, "var/lib/private/loadworker/checkout")}
	if systemd {
		folders = append(folders, "run/systemd/system")
	}
	for _, name := range folders {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	systemctl := "#!/bin/sh\necho \"$@\" >>" + dir + "/asked\nexit 1\n"
	if err := os.WriteFile(filepath.Join(dir, "bin/systemctl"), []byte(systemctl), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", text, script, argument)
	cmd.Env = []string{"PATH=" + dir + "/bin:" + os.Getenv("PATH"), "DPKG_ROOT=" + root}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s %s: %v\n%s", script, argument, err, out)
	}
	notes, _ := os.ReadFile(filepath.Join(dir, "asked"))
	_, gone := os.Stat(filepath.Join(dir, root, "var/lib/private/loadworker"))
	return string(notes), gone == nil
}
