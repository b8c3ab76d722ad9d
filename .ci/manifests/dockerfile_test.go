package manifests

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"
)

// version is the one that the image is built with.
const version = "v0.0.0-manifests"

func TestDockerfile(t *testing.T) {
	good := read(t, "Dockerfile", "go.mod")
	if err := checkDockerfile(good); err != nil {
		t.Error(err)
	}
	refuses(t, good, checkDockerfile, []mistake{
		{"Dockerfile", "COPY . .", "COPI . .", "unknown instruction: COPI"},
		{"Dockerfile", "WORKDIR /src", "WORKDIR", "WORKDIR requires exactly one argument"},
		{"Dockerfile", "golang:1.26", "golang:1.25", "the build stage is FROM golang:1.25"},
		{"Dockerfile", "golang:1.26", "golang", "the build stage is FROM golang,"},
		{"Dockerfile", "FROM scratch", "FROM alpine:3", "the last stage is FROM alpine:3"},
		{"Dockerfile", "COPY --from=build /src", "COPY --from=bild /src", "copies from bild"},
		{"Dockerfile", "COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/", "", "has no certificates"},
		{"Dockerfile", "USER 65532:65532", "", `runs as ""`},
		{"Dockerfile", "USER 65532:65532", "USER 0", `runs as "0"`},
		{"Dockerfile", "USER 65532:65532", "USER nonroot", `runs as "nonroot"`},
		{"Dockerfile", "USER 65532:65532", "USER 65532:65532\nUSER 0:0", `runs as "0:0"`},
		{"Dockerfile", `ENTRYPOINT ["loadctl"]`, "ENTRYPOINT loadctl", "needs a shell"},
		{"Dockerfile", `ENTRYPOINT ["loadctl"]`, `ENTRYPOINT ["loadctrl"]`, "starts loadctrl"},
	})
}

func stages(dockerfile string) ([]instructions.Stage, error) {
	tree, err := parser.Parse(strings.NewReader(dockerfile))
	if err != nil {
		return nil, err
	}
	all, _, err := instructions.Parse(tree.AST, nil)
	if err == nil && len(all) != 2 {
		err = fmt.Errorf("%d stages, want one that builds and one that runs", len(all))
	}
	return all, err
}

// checkDockerfile checks what the image is made of. TestBinaries checks what is in it.
func checkDockerfile(f files) error {
	all, err := stages(f["Dockerfile"])
	if err != nil {
		return err
	}
	var wrong []error
	golang := "golang:" + regexp.MustCompile(`(?m)^go (1\.\d+)`).FindStringSubmatch(f["go.mod"])[1]
	if all[0].BaseName != golang {
		wrong = append(wrong, fmt.Errorf("the build stage is FROM %s, and go.mod wants %s", all[0].BaseName, golang))
	}
	last := all[1]
	if last.BaseName != "scratch" {
		wrong = append(wrong, fmt.Errorf("the last stage is FROM %s, not scratch", last.BaseName))
	}
	user, certificates, entrypoint := "", false, instructions.ShellDependantCmdLine{}
	for _, command := range last.Commands {
		switch c := command.(type) {
		case *instructions.UserCommand:
			user = c.User
		case *instructions.CopyCommand:
			certificates = certificates || strings.HasPrefix(c.DestPath, "/etc/ssl/certs/")
			if c.From != all[0].Name {
				wrong = append(wrong, fmt.Errorf("%q copies from %s, which is no stage", c, c.From))
			}
		case *instructions.EntrypointCommand:
			entrypoint = c.ShellDependantCmdLine
		}
	}
	if !certificates {
		wrong = append(wrong, errors.New("the image has no certificates: copy them to /etc/ssl/certs"))
	}
	if !regexp.MustCompile(`^[1-9]\d*(:[1-9]\d*)?$`).MatchString(user) {
		wrong = append(wrong, fmt.Errorf("the image runs as %q, not as a number that is not root's", user))
	}
	if entrypoint.PrependShell {
		wrong = append(wrong, errors.New("ENTRYPOINT needs a shell, which the image has not: write it as a list"))
	} else if len(entrypoint.CmdLine) != 1 || !slices.Contains(programs(), entrypoint.CmdLine[0]) {
		wrong = append(wrong, fmt.Errorf("ENTRYPOINT starts %s, which is not in the image", strings.Join(entrypoint.CmdLine, " ")))
	}
	return errors.Join(wrong...)
}

// programs are what the image has to contain.
func programs() []string { return []string{"loadctl", "loadworker"} }

// built is what the build stage of the Dockerfile has made.
type built struct {
	root     string // the folder that is / to the stage
	programs string // the folder that becomes /usr/local/bin of the image
	starts   string // the program that a container runs if it is given no other
}

// program is the path of one of the binaries.
func (b built) program(name string) string { return filepath.Join(b.programs, name) }

// build does what the Dockerfile's build stage says, in dir instead of a container: it copies what .dockerignore lets
// through, and runs each RUN line.
func build(dir string) (built, error) {
	text, err := os.ReadFile(filepath.Join(root, "Dockerfile"))
	if err != nil {
		return built{}, err
	}
	all, err := stages(string(text))
	if err != nil {
		return built{}, err
	}
	ignored, err := dockerignore()
	if err != nil {
		return built{}, err
	}
	s := stage{root: dir, work: dir, ignored: ignored, env: os.Environ()}
	for _, command := range all[0].Commands {
		if err := s.do(command); err != nil {
			return built{}, fmt.Errorf("%s: %w", command, err)
		}
	}
	b := built{root: dir}
	for _, command := range all[1].Commands {
		switch c := command.(type) {
		case *instructions.CopyCommand:
			if c.DestPath == "/usr/local/bin/" {
				b.programs = filepath.Join(dir, c.SourcePaths[0])
			}
		case *instructions.EntrypointCommand:
			b.starts = c.CmdLine[0]
		}
	}
	return b, nil
}

func dockerignore() (*patternmatcher.PatternMatcher, error) {
	f, err := os.Open(filepath.Join(root, ".dockerignore"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	patterns, err := ignorefile.ReadAll(f)
	if err != nil {
		return nil, err
	}
	return patternmatcher.New(patterns)
}

// stage runs the commands of a stage.
type stage struct {
	root, work string
	ignored    *patternmatcher.PatternMatcher
	env        []string
}

func (s *stage) do(command instructions.Command) error {
	switch c := command.(type) {
	case *instructions.WorkdirCommand:
		s.work = filepath.Join(s.root, c.Path)
		return os.MkdirAll(s.work, 0o755)
	case *instructions.ArgCommand:
		for _, arg := range c.Args {
			value := arg.ValueString()
			if arg.Key == "VERSION" {
				value = version
			}
			s.env = append(s.env, arg.Key+"="+value)
		}
		return nil
	case *instructions.CopyCommand:
		for _, source := range c.SourcePaths {
			if err := s.copy(source, c.DestPath); err != nil {
				return err
			}
		}
		return nil
	case *instructions.RunCommand:
		run := exec.Command("sh", "-c", strings.Join(c.CmdLine, " "))
		run.Dir, run.Env = s.work, s.env
		if out, err := run.CombinedOutput(); err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
		return nil
	default:
		return errors.New("no command that this test knows")
	}
}

// copy copies a file, or what is in a folder, from the root of the project.
func (s *stage) copy(source, dest string) error {
	if path.IsAbs(dest) {
		return errors.New("the test knows only destinations that are relative")
	}
	return filepath.WalkDir(filepath.Join(root, source), func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err = filepath.Rel(root, name)
		if err != nil || name == "." {
			return err
		}
		ignored, err := s.ignored.MatchesOrParentMatches(name)
		switch {
		case err != nil:
			return err
		case ignored && d.IsDir():
			return fs.SkipDir // there are no exceptions
		case ignored || !d.IsDir() && !d.Type().IsRegular():
			return nil
		case d.IsDir():
			return os.MkdirAll(filepath.Join(s.work, dest, name), 0o755)
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(s.work, dest, name), text, 0o644)
	})
}

// TestBinaries checks what the build stage has made: in an image without a C library and a loader nothing else runs.
func TestBinaries(t *testing.T) {
	for _, name := range programs() {
		if err := checkBinary(image.program(name), image.root); err != nil {
			t.Error(err)
		}
		if out, err := exec.Command(image.program(name), "--version").Output(); err != nil || !strings.Contains(string(out), version) {
			t.Errorf("%s --version says %q, not %s (%v)", name, out, version, err)
		}
	}
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable() // built here, without -trimpath
	if err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for name, says := range map[string]string{sh: "is not static", self: "names the folder"} {
		if err := checkBinary(name, here); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: want %q, got %v", name, says, err)
		}
	}
}

// TestContext: what .dockerignore is for.
func TestContext(t *testing.T) {
	for _, name := range []string{".git", ".ci", "docs", "examples", "README.md", "pacer/clock_test.go"} {
		if _, err := os.Stat(filepath.Join(image.root, "src", name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is in the build context (%v)", name, err)
		}
	}
}

// checkBinary checks that a program needs nothing but the kernel, and does not show in which folder it was built.
func checkBinary(name, folder string) error {
	f, err := elf.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	libraries, err := f.ImportedLibraries()
	wrong := []error{err}
	if interpreted := slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }); interpreted || len(libraries) > 0 {
		wrong = append(wrong, fmt.Errorf("%s is not static: it needs a loader and %q", name, libraries))
	}
	text, err := os.ReadFile(name)
	if wrong = append(wrong, err); bytes.Contains(text, []byte(folder)) {
		wrong = append(wrong, fmt.Errorf("%s names the folder it was built in: use -trimpath", name))
	}
	return errors.Join(wrong...)
}
