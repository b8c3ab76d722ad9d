// Command licenses prints the licences of all that is compiled into the commands. Each of these licences asks for that.
//
//	licenses -root .
//
// It lists the modules of the commands on all systems of a release. A text that several modules share is printed once.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	root := flag.String("root", ".", "`DIR` at the top of the repository")
	flag.Parse()
	parts, err := modules(*root)
	if err == nil {
		// What no module is: a script in the pages, and Go itself, whose licence is that of its modules.
		parts["uPlot, in the pages"] = filepath.Join(*root, "internal", "page", "uplot")
		parts["The standard library and runtime of Go"] = parts[goModule(parts)]
		var text string
		if text, err = collect(parts); err == nil {
			fmt.Print(text)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error: licenses:", err)
		os.Exit(1)
	}
}

// modules returns the folders of the modules that are compiled into the commands, by path and version.
func modules(root string) (map[string]string, error) {
	dirs := map[string]string{}
	for _, system := range []string{"linux", "darwin"} {
		list := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}{{end}}{{end}}", "./cmd/loadctl", "./cmd/loadworker")
		list.Dir, list.Env, list.Stderr = root, append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0"), os.Stderr
		out, err := list.Output()
		if err != nil {
			return nil, fmt.Errorf("go list for %s: %w", system, err)
		}
		for line := range strings.Lines(string(out)) {
			if name, dir, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
				dirs[name] = dir
			}
		}
	}
	return dirs, nil
}

// goModule returns the name of a module of Go's authors.
func goModule(parts map[string]string) string {
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		if strings.HasPrefix(name, "golang.org/x/") {
			return name
		}
	}
	return ""
}

// collect returns the licences of all parts. A part is a name and its folder.
func collect(parts map[string]string) (string, error) {
	names := map[string][]string{} // by text
	var wrong []error
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		text, err := license(parts[name])
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", name, err))
		}
		names[text] = append(names[text], name)
	}
	if len(wrong) > 0 {
		return "", errors.Join(wrong...)
	}
	var b strings.Builder
	b.WriteString("The commands contain the software below, each under the licence that follows its name.\n")
	byName := func(one, other string) int { return cmp.Compare(names[one][0], names[other][0]) }
	for _, text := range slices.SortedFunc(maps.Keys(names), byName) {
		fmt.Fprintf(&b, "\n%s\n%s\n\n%s", strings.Repeat("=", 80), strings.Join(names[text], "\n"), text)
	}
	return b.String(), nil
}

// license returns the texts of licences and notices in a folder.
func license(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	var texts []string
	for _, e := range entries {
		if !e.Type().IsRegular() || !regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice)(\.(md|txt|rst))?$`).MatchString(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return "", err
		}
		texts = append(texts, strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n"))+"\n")
	}
	if len(texts) == 0 {
		return "", errors.New("there is no file with a licence")
	}
	return strings.Join(texts, "\n"), nil
}
