package deploy

import (
	"compress/gzip"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// TestPackages: both packages install the commands, and leave nothing behind.
func TestPackages(t *testing.T) {
	t.Run("deb", func(t *testing.T) { installDeb(t, one) })
	t.Run("rpm", func(t *testing.T) { installRPM(t, one) })
}

// built returns the one file in dist that has such a name.
func built(t *testing.T, checkout, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(checkout, "dist", pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %q, %v", pattern, found, err)
	}
	return found[0]
}

// installDeb installs a package in a folder that is the root of a system, as dpkg does for a new machine.
func installDeb(t *testing.T, checkout string) {
	t.Parallel()
	deb := built(t, checkout, "*.deb")
	root := t.TempDir()
	for _, dir := range []string{"var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers", "var/lib/private"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "var/lib/dpkg/status"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	dpkg := func(args ...string) string {
		t.Helper()
		args = append([]string{"--root=" + root, "--force-script-chrootless", "--log=" + os.DevNull}, args...)
		return said(t, asRoot(exec.CommandContext(t.Context(), "dpkg", args...)))
	}
	if times := written(t, deb)[24:36]; strings.TrimSpace(times) != epoch { // of the first file in the archive
		t.Errorf("the package was made at %s", times)
	}
	before := tree(t, root)
	dpkg("--install", deb)
	if status := dpkg("--status", "loadctl"); !strings.Contains(status, "Status: install ok installed") || !strings.Contains(status, "Version: 1.2.3") {
		t.Error(status)
	}
	if changed := dpkg("--verify", "loadctl"); changed != "" {
		t.Error(changed)
	}
	checkInstalled(t, root)
	env := filepath.Join(root, "etc/loadctl/loadworker.env")
	if info, err := os.Stat(env); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if err := os.WriteFile(env, []byte("LOADCTL_REDIS=redis://mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	dpkg("--install", deb)
	if written(t, env) != "LOADCTL_REDIS=redis://mine\n" {
		t.Error("an upgrade has overwritten the settings")
	}
	dpkg("--remove", "loadctl")
	if _, err := os.Stat(env); err != nil {
		t.Errorf("a removal, that is no purge, removes the settings: %v", err)
	}
	if err := os.MkdirAll(filepath.Join(root, "var/lib/private/loadworker/checkout"), 0o755); err != nil { // of a worker, by its unit
		t.Fatal(err)
	}
	dpkg("--purge", "loadctl")
	if after := tree(t, root); !slices.Equal(before, after) {
		t.Errorf("before %q, after %q", before, after)
	}
}

// installRPM reads a package back, and installs it in a folder that is the root of a system.
func installRPM(t *testing.T, checkout string) {
	t.Parallel()
	rpm := built(t, checkout, "*.rpm")
	if said := output(t, "rpm", "--query", "--package", "--queryformat", "%{NAME} %{VERSION} %{LICENSE} %{BUILDTIME} %{BUILDHOST} %{SUMMARY}", rpm); said !=
		"loadctl 1.2.3 Apache-2.0 "+epoch+" localhost Distributed load generator with one exact rate" {
		t.Error(said)
	}
	if said := output(t, "rpm", "--checksig", "--nosignature", rpm); !strings.Contains(said, "digests OK") {
		t.Error(said)
	}
	if said := output(t, "rpm", "--query", "--package", "--configfiles", rpm); said != "/etc/loadctl/loadworker.env\n" {
		t.Errorf("settings: %q", said)
	}
	root := t.TempDir()
	at := func(args ...string) string {
		t.Helper()
		return said(t, asRoot(exec.CommandContext(t.Context(), "rpm", append([]string{"--root", root}, args...)...)))
	}
	at("--initdb")
	// A root without a shell cannot run scripts. TestScripts does.
	at("--install", "--nodeps", "--noscripts", "--ignorearch", rpm)
	if said := at("--verify", "--nodeps", "--noscripts", "loadctl"); said != "" {
		t.Error(said)
	}
	checkInstalled(t, root)
	at("--erase", "--noscripts", "loadctl")
	for _, name := range tree(t, root) {
		if strings.Contains(name, "load") {
			t.Errorf("%s is left", name)
		}
	}
}

// checkInstalled uses what a package has installed below root.
func checkInstalled(t *testing.T, root string) {
	t.Helper()
	zsh := "usr/share/zsh/site-functions/"
	if _, err := os.Stat(filepath.Join(root, zsh)); err != nil {
		zsh = "usr/share/zsh/vendor-completions/"
	}
	for _, program := range []string{"loadctl", "loadworker"} {
		if said := output(t, filepath.Join(root, "usr/bin", program), "version"); !strings.HasPrefix(said, program+" "+version+" ") {
			t.Error(said)
		}
		page, err := os.Open(filepath.Join(root, "usr/share/man/man1", program+".1.gz"))
		if err != nil {
			t.Fatal(err)
		}
		unpacked, err := gzip.NewReader(page)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(unpacked); err != nil || !strings.Contains(string(text), ".TH") {
			t.Errorf("%.100s, %v", text, err)
		}
		page.Close()
		output(t, "bash", "-n", filepath.Join(root, "usr/share/bash-completion/completions", program))
		for _, name := range []string{zsh + "_" + program, "usr/share/fish/vendor_completions.d/" + program + ".fish"} {
			if text := written(t, filepath.Join(root, name)); !strings.Contains(text, program) {
				t.Errorf("%s: %.100q", name, text)
			}
		}
	}
	for _, name := range []string{"copyright", "THIRD-PARTY-LICENSES", "loadctl.cdx.json", "README.md", "CHANGELOG.md", "docs/deploy.md", "examples/systemd/loadworker.env"} {
		if text := written(t, filepath.Join(root, "usr/share/doc/loadctl", name)); text == "" {
			t.Errorf("%s is empty", name)
		}
	}
	verifyUnit(t, root)
	verifyBOM(t, root)
}

// verifyBOM compares the list of components with what Go wrote into the commands: each module has its version and hash.
func verifyBOM(t *testing.T, root string) {
	t.Helper()
	var bom cdx.BOM
	if err := cdx.NewBOMDecoder(strings.NewReader(written(t, filepath.Join(root, "usr/share/doc/loadctl/loadctl.cdx.json"))), cdx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	if c := bom.Metadata.Component; c.Name != "loadctl" || c.Version != version {
		t.Errorf("it is of %s %s", c.Name, c.Version)
	}
	listed := map[string]cdx.Component{}
	for _, c := range *bom.Components {
		listed[c.Name] = c
	}
	for _, program := range []string{"loadctl", "loadworker"} {
		info, err := buildinfo.ReadFile(filepath.Join(root, "usr/bin", program))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range append(info.Deps, &debug.Module{Path: "std", Version: strings.TrimPrefix(info.GoVersion, "go")}) {
			c := listed[m.Path]
			if c.Version != m.Version || c.PackageURL != "pkg:golang/"+m.Path+"@"+m.Version || m.Sum != "" && (c.Hashes == nil || !sameHash(m.Sum, (*c.Hashes)[0].Value)) {
				t.Errorf("%s has %s %s %s, listed is %+v", program, m.Path, m.Version, m.Sum, c)
			}
		}
	}
}

// sameHash compares a hash of go.sum with one in hexadecimal.
func sameHash(sum, text string) bool {
	one, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(sum, "h1:"))
	return err == nil && hex.EncodeToString(one) == text
}

// verifyUnit lets systemd read the unit. It also looks for the program, so that the unit has to name the one in /usr/bin.
func verifyUnit(t *testing.T, root string) {
	t.Helper()
	text := written(t, filepath.Join(root, "usr/lib/systemd/system/loadworker@.service"))
	if !strings.Contains(text, "ExecStart=/usr/bin/loadworker ") {
		t.Error("the unit starts another program than the package's")
	}
	unit := filepath.Join(t.TempDir(), "loadworker@.service")
	if err := os.WriteFile(unit, []byte(strings.ReplaceAll(text, "=/usr/bin/", "="+root+"/usr/bin/")), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "systemd-analyze", "verify", "--man=no", unit).CombinedOutput()
	if err != nil || len(out) > 0 { // it ends well even where it warns
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
}

// tree returns the names of all files below root, but for those that dpkg keeps about itself.
func tree(t *testing.T, root string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(name string, _ fs.DirEntry, err error) error {
		names = append(names, strings.TrimPrefix(name, root))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(name, "/var/lib/dpkg/") })
}
