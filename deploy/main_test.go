package deploy

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"
)

// What the tests build with.
const (
	version = "v1.2.3"
	commit  = "0123456789abcdef0123456789abcdef01234567"
	epoch   = "1701382400" // SOURCE_DATE_EPOCH: the last evening of November in Europe, and December in Asia
)

// one and two are copies of the repository in which TestMain has built everything, for this architecture. They are set
// once, before any test.
var one, two string

func TestMain(m *testing.M) {
	if err := asRoot(exec.Command("true")).Run(); err != nil {
		fmt.Fprintln(os.Stderr, "run these tests as root, or as a user who may create user namespaces: they install packages as root does:", err)
		os.Exit(1)
	}
	dir, err := os.MkdirTemp("", "loadctl-deploy-")
	if err != nil {
		panic(err)
	}
	one, two = filepath.Join(dir, "one"), filepath.Join(dir, "another", "folder")
	code := 1
	second := make(chan error)
	go func() { second <- buildElsewhere(two) }()
	if err := errors.Join(build(one), <-second); err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		code = m.Run()
	}
	os.RemoveAll(dir)
	os.Exit(code)
}

// build builds everything in a copy of the repository, which it makes.
func build(dir string) error {
	if err := copySource(dir); err != nil {
		return err
	}
	return makeAll(dir, "022")
}

// buildElsewhere does the same as another user would: one whose files nobody else may read, with files of another age and
// other settings of Go, and with packages of an earlier version lying around.
func buildElsewhere(dir string) error {
	if err := copySource(dir); err != nil {
		return err
	}
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		return errors.Join(os.Chmod(name, info.Mode().Perm()&0o700), os.Chtimes(name, time.Unix(1_000_000_000, 0), time.Unix(1_000_000_000, 0)))
	})
	if err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(dir, "dist"), 0o700); err != nil {
		return err
	}
	for _, name := range []string{"loadctl_0.0.1_amd64.deb", "loadctl-0.0.1-1.x86_64.rpm", "loadctl-0.0.1.tgz"} {
		if err := os.WriteFile(filepath.Join(dir, "dist", name), nil, 0o600); err != nil {
			return err
		}
	}
	return makeAll(dir, "077", "GOFLAGS=-tags=other", "TZ=Asia/Tokyo")
}

// makeAll makes everything in a checkout, for this architecture, with a umask and changes to the environment.
func makeAll(checkout, umask string, env ...string) error {
	args := []string{"packages", "image", "chartfile", "site", "ARCHES=" + runtime.GOARCH, "VERSION=" + version, "COMMIT=" + commit, "SOURCE_DATE_EPOCH=" + epoch}
	args = append([]string{"-c", `umask "$0"; exec make --no-print-directory "$@"`, umask}, args...)
	cmd := exec.Command("bash", args...)
	cmd.Dir, cmd.Env = checkout, append(append(os.Environ(), "MAKEFLAGS=", "GOFLAGS="), env...) // not those of the make that runs the tests
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("make in %s: %w\n%s", checkout, err, out)
	}
	return nil
}

// copySource copies the repository, without git and without what was built.
func copySource(dir string) error {
	entries, err := os.ReadDir("..")
	if err != nil {
		return err
	}
	for _, e := range entries {
		from, to := filepath.Join("..", e.Name()), filepath.Join(dir, e.Name())
		switch {
		case slices.Contains([]string{".git", "bin", "dist"}, e.Name()):
		case e.IsDir():
			err = errors.Join(err, os.CopyFS(to, os.DirFS(from)))
		default:
			text, readErr := os.ReadFile(from)
			err = errors.Join(err, readErr, os.MkdirAll(dir, 0o755), os.WriteFile(to, text, 0o644))
		}
	}
	return err
}

// written returns the text of a file.
func written(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// output runs a program that has to end well, and returns what it prints.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	return said(t, exec.CommandContext(t.Context(), name, args...))
}

// said runs a command that has to end well, and returns what it prints.
func said(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v\n%s", cmd.Args, err, out)
	}
	return string(out)
}

// asRoot lets a command run as root. If the tests are run by somebody else, it is root in a user namespace of its own, where
// no files but theirs belong to it.
func asRoot(cmd *exec.Cmd) *exec.Cmd { return asUser(cmd, 0) }

// asUser lets a command run as a user. See asRoot.
func asUser(cmd *exec.Cmd, user int) *exec.Cmd {
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	if os.Getuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(user), Gid: uint32(user)}
		return cmd
	}
	cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
	cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: user, HostID: os.Getuid(), Size: 1}}
	cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: user, HostID: os.Getgid(), Size: 1}}
	cmd.Env = append(os.Environ(), "PATH="+os.Getenv("PATH")+":/usr/sbin:/sbin") // dpkg looks for programs there
	return cmd
}
