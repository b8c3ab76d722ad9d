// Package doctest runs what the documentation shows: its terminal sessions, its Go program, the examples; and checks
// that links, paths, flags, commands and fields named there exist.
package doctest

import (
	"bytes"
	"flag"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/proof/commands"
)

// root is the top of the repository, seen from here.
const root = "../../.."

// binaries is where the commands are, and with test-all the examples.
var binaries string

func TestMain(m *testing.M) {
	flag.Parse()
	examples := []string{"examples/pacer", "examples/report", "examples/openloop"}
	if testing.Short() { // only test-all runs them
		examples = nil
	}
	built, err := commands.Build(examples...)
	if err != nil {
		panic(err)
	}
	binaries = built.Dir
	code := m.Run()
	built.Remove()
	os.Exit(code)
}

// document is one Markdown file; its name is relative to the root.
type document struct {
	name, text string
}

// superseded marks a page that is history: the things that it names may be gone.
func (d document) superseded() bool {
	_, rest, _ := strings.Cut(d.text, "\n\n") // behind the title
	return strings.HasPrefix(rest, "**Superseded")
}

// documents returns all Markdown files that the project writes for people.
func documents(t *testing.T) []document {
	t.Helper()
	names := []string{"README.md", "CONTRIBUTING.md", "CHANGELOG.md"}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Ext(path) == ".md" {
			name, _ := filepath.Rel(root, path)
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var docs []document
	for _, name := range names {
		docs = append(docs, document{name, read(t, name)})
	}
	return docs
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// output runs a program in the root and returns its output.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = root
	cmd.WaitDelay = time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out.String())
	}
	return out.String()
}

// command runs one of the programs that TestMain has built.
func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	return output(t, filepath.Join(binaries, name), args...)
}

func TestExamples(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it: it builds and runs examples")
	}
	t.Parallel()
	if out := command(t, "pacer"); !strings.Contains(out, "slot 5 is due after 1.414214s") {
		t.Errorf("a ramp of 0 to 10 per second over 2 s reaches 5 after √2 s, but:\n%s", out)
	}
	if out := command(t, "report"); !strings.Contains(out, "asked 2000 = sent 2000") {
		t.Errorf("report does not add up:\n%s", out)
	}
}

func TestFleetScript(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it: it builds and runs examples")
	}
	t.Parallel()
	out := output(t, "bash", "examples/fleet.sh")
	for _, want := range []string{"workers  3", "set-rate in force", "stop in force", ", complete", "MOST ARRIVALS IN ANY"} {
		if !strings.Contains(out, want) {
			t.Errorf("fleet.sh does not print %q:\n%s", want, out)
		}
	}
}

// TestProgram: README shows a part of a program. test-all runs it.
func TestProgram(t *testing.T) {
	t.Parallel()
	_, rest, ok := strings.Cut(read(t, "README.md"), "```go\n")
	part, _, end := strings.Cut(rest, "\n```")
	if !ok || !end {
		t.Fatal("README.md has no Go program")
	}
	program := read(t, "examples/openloop/main.go")
	if inside := "\n\t" + strings.ReplaceAll(part, "\n", "\n\t") + "\n"; !strings.Contains(program, inside) {
		t.Errorf("examples/openloop does not contain what README shows:\n%s", part)
	}
	if testing.Short() {
		return
	}
	if out := command(t, "openloop"); !strings.Contains(out, "asked 200 = sent 200") {
		t.Errorf("the program prints\n%s", out)
	}
}

func TestLinksAndPaths(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#\s]+)(?:#[^)]*)?\)`)
	path := regexp.MustCompile("`((?:lua|pacer|targets|report|internal|cmd|examples|docs|lab|\\.ci)/[a-z0-9_./*-]*)`")
	for _, d := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(d.text, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(root, filepath.Dir(d.name), m[1])); err != nil {
				t.Errorf("%s links to %s: %v", d.name, m[1], err)
			}
		}
		if d.superseded() {
			continue
		}
		for _, m := range path.FindAllStringSubmatch(d.text, -1) {
			if found, err := filepath.Glob(filepath.Join(root, m[1])); err != nil || len(found) == 0 {
				t.Errorf("%s names %s, which there is not", d.name, m[1])
			}
		}
	}
}

// TestNames checks the tests, the targets of make and the packages to install that the documents name.
func TestNames(t *testing.T) {
	makefile := read(t, "Makefile")
	var tests strings.Builder
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		tests.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	test := regexp.MustCompile("`((?:Test|Benchmark)[A-Z]\\w+)`")
	target := regexp.MustCompile("(?m)(?:`|^|\\$ |    )make ([a-z-]+)")
	install := regexp.MustCompile(`go install github.com/loadctl/loadctl/(\S+)@`)
	for _, d := range documents(t) {
		if d.superseded() {
			continue
		}
		for _, m := range test.FindAllStringSubmatch(d.text, -1) {
			if !strings.Contains(tests.String(), "func "+m[1]+"(") {
				t.Errorf("%s names %s, which there is not", d.name, m[1])
			}
		}
		for _, m := range target.FindAllStringSubmatch(d.text, -1) {
			if !strings.Contains(makefile, "\n"+m[1]+":") {
				t.Errorf("%s says make %s, which there is not", d.name, m[1])
			}
		}
		for _, m := range install.FindAllStringSubmatch(d.text, -1) {
			if _, err := os.Stat(filepath.Join(root, m[1], "main.go")); err != nil {
				t.Errorf("%s installs %s: %v", d.name, m[1], err)
			}
		}
	}
}

// helps holds the output of --help by command. That of a command includes those of its subcommands.
func helps(t *testing.T) map[string]string {
	t.Helper()
	helps := map[string]string{}
	for _, program := range []string{"loadctl", "loadworker"} {
		for _, name := range below(command(t, program, "--help")) {
			help := command(t, program, name, "--help")
			for _, sub := range below(help) {
				help += command(t, program, name, sub, "--help")
			}
			helps[program+" "+name] = help
		}
	}
	return helps
}

// below returns the subcommands that a help lists.
func below(help string) (names []string) {
	_, list, _ := strings.Cut(help, "Available Commands:")
	list, _, _ = strings.Cut(list, "\n\n")
	for _, m := range regexp.MustCompile(`(?m)^  ([a-z][a-z-]*)  +\S`).FindAllStringSubmatch(list, -1) {
		names = append(names, m[1])
	}
	return names
}

// TestCommandsAndFlags compares what the documents name with --help, and README with all commands.
func TestCommandsAndFlags(t *testing.T) {
	flag := regexp.MustCompile(`(?m)^ {2,6}(?:(-\w), )?(--[a-z][a-z-]*)`)
	flags := map[string][]string{} // by command
	var all []string
	readme := read(t, "README.md")
	for name, help := range helps(t) {
		flags[name] = []string{"--help"}
		for _, f := range flag.FindAllStringSubmatch(help, -1) {
			flags[name] = append(flags[name], f[1:]...)
		}
		all = append(all, flags[name]...)
		ofCobra := strings.HasSuffix(name, " help") || strings.HasSuffix(name, " completion")
		if !ofCobra && !strings.Contains(readme, "`"+name) {
			t.Errorf("README.md does not name %s", name)
		}
	}
	used := regexp.MustCompile("(?m)(?:^|`|\\$ )(loadctl|loadworker) ([a-z][a-z-]*)([^`\n]*)")
	others := regexp.MustCompile(`\b(curl|redis-server|redis-cli|docker|kubectl|systemctl|helm|crane|brew|protoc|ghz)\b|\bprometheus --`)
	option := regexp.MustCompile(`(?:^|[\s(\x60])(--[a-z][a-z-]*)`)
	for _, d := range documents(t) {
		for _, m := range used.FindAllStringSubmatch(d.text, -1) {
			known, ok := flags[m[1]+" "+m[2]]
			if !ok && m[0][0] != '`' && m[0][0] != '$' {
				continue // prose that begins a line
			}
			if !ok {
				t.Errorf("%s names %s %s, which there is not", d.name, m[1], m[2])
				continue
			}
			for _, f := range option.FindAllStringSubmatch(m[3], -1) {
				if !slices.Contains(known, f[1]) {
					t.Errorf("%s gives %s %s the flag %s, which it has not", d.name, m[1], m[2], f[1])
				}
			}
		}
		for line := range strings.Lines(d.text) {
			if others.MatchString(line) {
				continue // has flags of its own
			}
			for _, f := range option.FindAllStringSubmatch(line, -1) {
				if !slices.Contains(all, f[1]) && f[1] != "--version" {
					t.Errorf("%s names the flag %s, which no command has", d.name, f[1])
				}
			}
		}
	}
}

// TestFlagsOfWorkers: the flags of loadworker run that describe a run are those of loadctl run and create too; those
// of one worker are not.
func TestFlagsOfWorkers(t *testing.T) {
	flag := regexp.MustCompile(`(?m)^ {2,6}(?:-\w, )?(--[a-z][a-z-]*)`)
	groups := func(command string) map[string][]string {
		of := map[string][]string{}
		for paragraph := range strings.SplitSeq(helps(t)[command], "\n\n") {
			title, list, _ := strings.Cut(paragraph, ":\n")
			for _, f := range flag.FindAllStringSubmatch(list, -1) {
				of[title] = append(of[title], f[1])
			}
		}
		return of
	}
	worker := groups("loadworker run")
	for _, name := range []string{"loadctl run", "loadctl create"} {
		of := groups(name)
		for _, group := range []string{"Request", "Connections", "Limiter", "Outages"} {
			if len(worker[group]) == 0 || !slices.Equal(worker[group], of[group]) {
				t.Errorf("%s: loadworker run has %v, %s has %v", group, worker[group], name, of[group])
			}
		}
		for _, f := range append([]string{"--run", "--wait"}, worker["This worker"]...) {
			if slices.Contains(slices.Concat(slices.Collect(maps.Values(of))...), f) {
				t.Errorf("%s has %s, which is a worker's own", name, f)
			}
		}
		for _, f := range worker["Run"] {
			waits := f == "--start-timeout" && name == "loadctl create" // it does not wait: loadctl start does
			if f != "--run" && f != "--wait" && !waits && !slices.Contains(of["Run"], f) {
				t.Errorf("%s has no %s", name, f)
			}
		}
	}
	if len(worker["This worker"]) == 0 {
		t.Error("loadworker run has no group This worker")
	}
}

// imports returns the packages of ours that each folder imports.
func imports(t *testing.T) map[string][]string {
	t.Helper()
	const ours = "github.com/loadctl/loadctl/"
	imports := map[string][]string{}
	for line := range strings.Lines(output(t, "go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...")) {
		words := strings.Fields(line)
		folder := strings.TrimPrefix(words[0], ours)
		imports[folder] = []string{}
		for _, path := range words[1:] {
			if path, of := strings.CutPrefix(path, ours); of {
				imports[folder] = append(imports[folder], path)
			}
		}
	}
	return imports
}

// span matches a folder in a table of ARCHITECTURE.md.
var span = regexp.MustCompile("`([a-z0-9_/]+)/`")

// folders returns a part of ARCHITECTURE.md: from the heading of the folders to the next, and its table of rooms alone.
func folders(t *testing.T) (all, rooms string) {
	t.Helper()
	_, all, _ = strings.Cut(read(t, "docs/ARCHITECTURE.md"), "\n## Folders\n")
	all, _, _ = strings.Cut(all, "\n## ")
	rooms, _, _ = strings.Cut(all, "\n| folder |")
	return all, rooms
}

// TestRooms asserts that no package imports one of a room that stands below its own in the table of rooms.
func TestRooms(t *testing.T) {
	_, table := folders(t)
	heights := map[string]int{}
	for i, line := range strings.Split(table, "\n") {
		if cells := strings.Split(line, "|"); len(cells) == 4 {
			for _, m := range span.FindAllStringSubmatch(cells[1], -1) {
				heights[m[1]] = i
			}
		}
	}
	height := func(folder string) int {
		for room := folder; room != "."; room = path.Dir(room) {
			if h, is := heights[room]; is {
				return h
			}
		}
		return -1
	}
	for folder, imports := range imports(t) {
		if height(folder) < 0 && !strings.HasPrefix(folder, "examples/") {
			t.Errorf("%s has no room in docs/ARCHITECTURE.md", folder)
		}
		for _, imported := range imports {
			if height(folder) >= 0 && height(imported) > height(folder) && !strings.HasSuffix(folder, "test") {
				t.Errorf("%s imports %s, whose room stands below its own in docs/ARCHITECTURE.md", folder, imported)
			}
		}
	}
}

// TestFolders: the imports in the table of folders are the real ones.
func TestFolders(t *testing.T) {
	imports := imports(t)
	table, _ := folders(t)
	listed := map[string]bool{}
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || !strings.Contains(cells[1], "`") {
			continue
		}
		named := []string{}
		for _, m := range span.FindAllStringSubmatch(cells[3], -1) {
			named = append(named, m[1])
		}
		slices.Sort(named)
		words := strings.Trim(span.ReplaceAllString(cells[3], ""), " ,\n") // such as "most"
		for _, m := range span.FindAllStringSubmatch(cells[1], -1) {
			listed[m[1]] = true
			got, there := imports[m[1]]
			if !there {
				t.Errorf("%s is no package", m[1])
			}
			if (words == "" && len(named) > 0 || words == "none") && !slices.Equal(got, named) {
				t.Errorf("%s imports %q, and not %q", m[1], got, named)
			}
			for _, name := range named {
				if !slices.Contains(got, name) {
					t.Errorf("%s does not import %s", m[1], name)
				}
			}
		}
	}
	for folder := range imports {
		below, internal := strings.CutPrefix(folder, "internal/")
		room := internal && !strings.Contains(below, "/")                                 // its doc.go
		inside := strings.Count(below, "/") > 1 || strings.HasPrefix(folder, "examples/") // helpers of a package's tests
		if !listed[folder] && !inside && !room {
			t.Errorf("the table does not name %s", folder)
		}
	}
}
