// Package page holds the parts of the project's pages: ES modules, a style, and the charts library uPlot.
//
//	script, err := page.Script("report.js") // a module and all its imports, as one script
//	style := page.Style()
//	var m page.Markup
//	m.Head("x", page.Policy(script, style), style) // nothing else may run, and nothing may be fetched
//
// The modules in web/ are plain: a server can serve them unchanged, and [Script] joins them into one file.
// docs/adr/0011-one-file.md explains why there is no build step.
package page

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
)

//go:embed web uplot
var files embed.FS

// Files returns the files that make pages: the modules and the style in web, and the library in uplot.
func Files() fs.FS { return files }

// Style returns the style of all pages.
func Style() string { return mustRead("uplot/uPlot.min.css") + "\n" + mustRead("web/page.css") }

// mustRead reads an embedded file.
func mustRead(name string) string {
	text, err := files.ReadFile(name)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// Policy returns the content security policy of a page that has one script ("" = none), one style, and fetches nothing.
func Policy(script, style string) string {
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return base64.StdEncoding.EncodeToString(sum[:])
	}
	scripts := ""
	if script != "" {
		scripts = fmt.Sprintf("script-src 'sha256-%s'; ", hash(script))
	}
	return fmt.Sprintf("default-src 'none'; %sstyle-src 'sha256-%s'; base-uri 'none'; form-action 'none'", scripts, hash(style))
}

// Script returns uPlot, the module entry and all its imports as one module script, imports first. The modules then
// share one scope, so no two of them may declare the same name.
func Script(entry string) (string, error) {
	web, err := fs.Sub(files, "web")
	if err != nil {
		return "", err
	}
	l := linker{modules: web}
	if err := l.add(entry); err != nil {
		return "", err
	}
	// The licence requires its text wherever the library goes.
	script := "/*\n" + mustRead("uplot/LICENSE") + "*/\n" + strings.TrimSpace(mustRead("uplot/uPlot.iife.min.js")) + "\n" + l.out.String()
	if strings.Contains(script, "</script") || strings.Contains(script, "<!--") {
		return "", fmt.Errorf("link %s: a module contains text that ends or hides a script element", entry)
	}
	return script, nil
}

// linker joins modules.
type linker struct {
	modules    fs.FS
	out        strings.Builder
	open, done []string
}

// The two statements of modules, each on its own line, and lines that begin like them.
var (
	importLine = regexp.MustCompile(`^import \{ \w+(?:, \w+)* \} from "\./([\w-]+\.js)";$`)
	exportLine = regexp.MustCompile(`^export ((?:async )?function|const|class) `)
)

// add writes the module, after its imports that are not written yet.
func (l *linker) add(name string) error {
	if slices.Contains(l.done, name) {
		return nil
	}
	if slices.Contains(l.open, name) {
		return fmt.Errorf("link %s: it imports itself, by way of %s", name, strings.Join(l.open, ", "))
	}
	l.open = append(l.open, name)
	text, err := fs.ReadFile(l.modules, name)
	if err != nil {
		return fmt.Errorf("link %s: %w", name, err)
	}
	var body strings.Builder
	for line := range strings.Lines(string(text)) {
		bare := strings.TrimRight(line, "\n")
		switch found := importLine.FindStringSubmatch(bare); {
		case found != nil:
			if err := l.add(found[1]); err != nil {
				return err
			}
		case exportLine.MatchString(bare):
			body.WriteString(strings.TrimPrefix(line, "export "))
		case strings.HasPrefix(bare, "import") || strings.HasPrefix(bare, "export"):
			return fmt.Errorf("link %s: %q; only import { a, b } from \"./x.js\"; and export before function, const or class can be linked", name, bare)
		default:
			body.WriteString(line)
		}
	}
	l.out.WriteString(strings.TrimRight(body.String(), "\n") + "\n")
	l.done = append(l.done, name)
	l.open = l.open[:len(l.open)-1]
	return nil
}
