// Package contents lists what others made that is compiled into the commands.
package contents

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A Part is a module of Go, or something that is none.
type Part struct {
	Name, Version string
	URL           string // a package URL: https://github.com/package-url/purl-spec
	Sum           string // of go.sum: "h1:" and a hash in base64; "" = unknown
	Dir           string // has its licence
}

// Parts returns the parts of the commands on all systems of a release, sorted by name. root is the top of the repository.
func Parts(root string) ([]Part, error) {
	parts, err := modules(root)
	if err != nil {
		return nil, err
	}
	ours := slices.IndexFunc(parts, func(p Part) bool { return strings.HasPrefix(p.Name, "golang.org/x/") })
	if ours < 0 {
		return nil, errors.New("no module is of the authors of Go")
	}
	version, err := exec.Command("go", "env", "GOVERSION").Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	release := strings.TrimPrefix(strings.TrimSpace(string(version)), "go")
	library := Part{Name: "std", Version: release, URL: "pkg:golang/std@" + release, Dir: parts[ours].Dir} // a module of the same authors has its licence
	plot, err := script(filepath.Join(root, "internal", "output", "page", "uplot"))
	if err != nil {
		return nil, err
	}
	parts = append(parts, library, plot)
	slices.SortFunc(parts, byName)
	return parts, nil
}

// modules returns the modules that are compiled into the commands, sorted by name.
func modules(root string) ([]Part, error) {
	found := map[string]Part{}
	for _, system := range []string{"linux", "darwin"} {
		list := exec.Command("go", "list", "-deps", "-json=Module", "./cmd/loadctl", "./cmd/loadworker")
		list.Dir, list.Env, list.Stderr = root, append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0"), os.Stderr
		out, err := list.Output()
		if err != nil {
			return nil, fmt.Errorf("go list for %s: %w", system, err)
		}
		for d := json.NewDecoder(bytes.NewReader(out)); ; {
			var p struct {
				Module *struct {
					Path, Version, Sum, Dir string
					Main                    bool
				}
			}
			if err := d.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, fmt.Errorf("go list for %s: %w", system, err)
			}
			if m := p.Module; m != nil && !m.Main {
				found[m.Path] = Part{Name: m.Path, Version: m.Version, URL: "pkg:golang/" + m.Path + "@" + m.Version, Sum: m.Sum, Dir: m.Dir}
			}
		}
	}
	return slices.SortedFunc(maps.Values(found), byName), nil
}

func byName(one, other Part) int { return cmp.Compare(one.Name, other.Name) }

// script returns the script in the pages. Its first line names its version.
func script(dir string) (Part, error) {
	text, err := os.ReadFile(filepath.Join(dir, "uPlot.iife.min.js"))
	if err != nil {
		return Part{}, err
	}
	first, _, _ := bytes.Cut(text, []byte("\n"))
	m := regexp.MustCompile(`\(v([\d.]+)\)`).FindSubmatch(first)
	if m == nil {
		return Part{}, errors.New("the first line of uPlot names no version")
	}
	version := string(m[1])
	return Part{Name: "uplot", Version: version, URL: "pkg:npm/uplot@" + version, Dir: dir}, nil
}
