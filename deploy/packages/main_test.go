package main

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/goreleaser/nfpm/v2"
)

// TestVersionsSort: dpkg and rpm take a version for newer than the one before it in this list.
func TestVersionsSort(t *testing.T) {
	versions := []string{"0123abc-dirty", "v1.2.3-rc.1", "v1.2.3-rc.1-2-g0123abc", "v1.2.3", "v1.2.3-4-g0123abc", "v1.2.3-5-gfff0000-dirty", "v1.2.4"}
	for i, version := range versions {
		if strings.Contains(full(t, "rpm", version), "-") {
			t.Errorf("%s: rpm takes what is behind a dash for a release: %s", version, full(t, "rpm", version))
		}
		if i == 0 {
			continue
		}
		older, newer := full(t, "deb", versions[i-1]), full(t, "deb", version)
		if err := exec.CommandContext(t.Context(), "dpkg", "--compare-versions", older, "lt", newer).Run(); err != nil {
			t.Errorf("dpkg takes %s for no older than %s: %v", older, newer, err)
		}
		older, newer = full(t, "rpm", versions[i-1]), full(t, "rpm", version)
		out, err := exec.CommandContext(t.Context(), "rpm", "--eval", fmt.Sprintf("%%{lua:print(rpm.vercmp('%s', '%s'))}", older, newer)).Output()
		if err != nil || strings.TrimSpace(string(out)) != "-1" {
			t.Errorf("rpm takes %s for no older than %s: %s, %v", older, newer, out, err)
		}
	}
}

// full returns the version that a package gets: the middle of its file's name.
func full(t *testing.T, format, version string) string {
	t.Helper()
	packager, err := nfpm.Get(format)
	if err != nil {
		t.Fatal(err)
	}
	name := packager.ConventionalFileName(nfpm.WithDefaults(&nfpm.Info{Name: "x", Arch: "amd64", Version: sortable(version)}))
	if format == "deb" {
		return strings.TrimSuffix(strings.TrimPrefix(name, "x_"), "_amd64.deb")
	}
	return strings.TrimSuffix(strings.TrimPrefix(name, "x-"), "-1.x86_64.rpm")
}

// TestVersions: a release keeps its number.
func TestVersions(t *testing.T) {
	for version, want := range map[string]string{
		"v1.2.3": "v1.2.3", "1.2.3": "1.2.3", "v1.2.3-rc.1": "v1.2.3-rc.1", "dev": "0.0.0-gdev", "feature/x": "0.0.0-gfeature.x", "0123456": "0.0.0-g0123456",
		"v1.2.3-4-g0123abc": "v1.2.3+4.g0123abc", "v1.2.3-4-g0123abc-dirty": "v1.2.3+4.g0123abc.dirty", "v1.2.3-dirty": "v1.2.3+dirty",
	} {
		if got := sortable(version); got != want {
			t.Errorf("%s: %s, want %s", version, got, want)
		}
	}
}
