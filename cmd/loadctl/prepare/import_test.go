package prepare

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/console/cli/clitest"
)

// sample returns the path of a recorded input.
func sample(name string) string {
	return filepath.Join("../../../internal/input/importer/testdata", name)
}

// TestImportRoundTrip: loadctl workload check accepts what loadctl import prints, for each kind of input.
func TestImportRoundTrip(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		says []string
	}{
		"recording.har": {nil, []string{"recording", "at 1.512s", "POST https://shop.test/search"}},
		"commands.sh":   {[]string{"--steps"}, []string{"commands", "0s after the answer", "PUT https://shop.test/form"}},
		"targets.txt":   {nil, []string{"browse", "80.00 %", "POST https://shop.test/cart"}},
		"access.log":    {[]string{"--base", "https://staging.test"}, []string{"42.85 %", "GET https://staging.test/items/${random 5 99}"}},
	} {
		out := filepath.Join(t.TempDir(), "w.yaml")
		args := append([]string{"import", sample(name)}, c.args...)
		printed, stderr, code := clitest.Execute(newRootCommand(), args...)
		if code != 0 || stderr != "" {
			t.Fatalf("%s: exit code %d, %s", name, code, stderr)
		}
		if stdout, stderr, code := clitest.Execute(newRootCommand(), append(args, "--out", out)...); code != 0 || stdout+stderr != "" {
			t.Fatalf("%s: exit code %d, %s%s", name, code, stdout, stderr)
		}
		if written, err := os.ReadFile(out); err != nil || string(written) != printed {
			t.Errorf("%s: --out differs from what is printed: %v\n%s", name, err, written)
		}
		checked, stderr, code := clitest.Execute(newRootCommand(), "workload", "check", out)
		if code != 0 {
			t.Errorf("%s: exit code %d, %s", name, code, stderr)
		}
		for _, want := range c.says {
			if !strings.Contains(checked, want) {
				t.Errorf("%s: %q is missing in\n%s", name, want, checked)
			}
		}
	}
}

// TestImportOfLogin: the token of a login comes from its answer. The password comes from a file, and an error names that
// file until it is there.
func TestImportOfLogin(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "w.yaml")
	if _, stderr, code := clitest.Execute(newRootCommand(), "import", sample("login.har"), "--out", out); code != 0 {
		t.Fatalf("exit code %d, %s", code, stderr)
	}
	clitest.Refused(t, newRootCommand(), []string{"workload", "check", out}, "secrets.csv", "no such file")
	if err := os.WriteFile(filepath.Join(dir, "secrets.csv"), []byte("password,pin\nhunter2,hunter3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	checked, stderr, code := clitest.Execute(newRootCommand(), "workload", "check", out)
	for _, want := range []string{"takes access_token, X-Session", "Authorization: Bearer <access_token>", "&password=<secrets.password>", `"pin":"<secrets.pin>"`, "GET https://shop.test/orders/<id>/pay?visit=visit1234"} {
		if code != 0 || !strings.Contains(checked, want) {
			t.Errorf("exit code %d, %s, no %q in\n%s", code, stderr, want, checked)
		}
	}
	if strings.Contains(checked, "hunter") {
		t.Errorf("it shows a secret\n%s", checked)
	}
}

// TestImportStdin: - is standard input.
func TestImportStdin(t *testing.T) {
	root := newRootCommand()
	root.SetIn(strings.NewReader("curl https://shop.test/items"))
	if stdout, stderr, code := clitest.Execute(root, "import", "-"); code != 0 || !strings.Contains(stdout, "get: /items") {
		t.Errorf("exit code %d, %s%s", code, stdout, stderr)
	}
}

// TestImportOut: a file that is there stays as it is, unless --force says otherwise, and an error leaves nothing behind.
func TestImportOut(t *testing.T) {
	dir := t.TempDir()
	out, bad := filepath.Join(dir, "w.yaml"), filepath.Join(dir, "bad.sh")
	for path, text := range map[string]string{out: "mine", bad: "curl --proxy x"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	clitest.Refused(t, newRootCommand(), []string{"import", sample("commands.sh"), "--out", out}, "w.yaml", "is there already; give another name, or --force")
	clitest.Refused(t, newRootCommand(), []string{"import", bad, "--out", out, "--force"}, "bad.sh:1: the option")
	clitest.Refused(t, newRootCommand(), []string{"import", bad, "--out", filepath.Join(dir, "new.yaml")}, "bad.sh:1: the option")
	clitest.Refused(t, newRootCommand(), []string{"import", sample("commands.sh"), "--out", filepath.Join(dir, "none", "w.yaml")}, "--out", "give a file in a directory that is there")
	clitest.Refused(t, newRootCommand(), []string{"import", sample("commands.sh"), "--out", dir, "--force"}, "is no regular file")
	clitest.Refused(t, newRootCommand(), []string{"import", sample("commands.sh"), "--force"}, "leave --force out")
	clitest.Refused(t, newRootCommand(), []string{"import", sample("none")}, "no such file", "or - for standard input")
	clitest.Refused(t, newRootCommand(), []string{"import"}, "give FILE")
	clitest.Refused(t, newRootCommand(), []string{"import", sample("access.log")}, "--base https://staging.test")
	if text, err := os.ReadFile(out); err != nil || string(text) != "mine" {
		t.Errorf("%q, %v", text, err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 2 {
		t.Errorf("%v, %v", files, err)
	}
	if _, stderr, code := clitest.Execute(newRootCommand(), "import", sample("commands.sh"), "--out", out, "--force"); code != 0 {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	if text, err := os.ReadFile(out); err != nil || !strings.HasPrefix(string(text), "# Imported") {
		t.Errorf("%q, %v", text, err)
	}
}
