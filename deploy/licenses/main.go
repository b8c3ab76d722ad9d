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
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/loadctl/loadctl/deploy/contents"
)

func main() {
	root := flag.String("root", ".", "`DIR` at the top of the repository")
	flag.Parse()
	parts, err := contents.Parts(*root)
	if err == nil {
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

// collect returns the licences of all parts.
func collect(parts []contents.Part) (string, error) {
	names := map[string][]string{} // by text
	var wrong []error
	for _, p := range parts {
		name := p.Name + " " + p.Version
		text, err := license(p.Dir)
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
