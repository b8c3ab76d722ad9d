// Command site renders the documents as pages that need no network: dist/site/index.html.
//
//	site -root . -version v1.2.3
//
// Links between documents become links between pages, and those to other files lead to the repository. A dead link is an
// error, and so is a document that is not in the contents (order.go).
package main

import (
	"bytes"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"html"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// repository has the files that are no part of the site.
const repository = "https://github.com/loadctl/loadctl"

//go:embed page.html
var layout string

//go:embed style.css
var style []byte

//go:embed site.js
var script []byte

func main() {
	root := flag.String("root", ".", "`DIR` at the top of the repository")
	version := flag.String("version", "dev", "`VERSION` that the pages show")
	flag.Parse()
	if err := build(*root, filepath.Join(*root, "dist", "site"), *version); err != nil {
		fmt.Fprintln(os.Stderr, "error: site:", err)
		os.Exit(1)
	}
}

// page is one document.
type page struct {
	file   string // in the repository: docs/report.md
	out    string // in the site: report.html
	source []byte
	tree   ast.Node
	title  string
	ids    map[string]bool // of its headings
}

// build renders all pages into out, which it replaces.
func build(root, out, version string) error {
	markdown := markdown()
	pages, err := load(root, markdown)
	if err != nil {
		return err
	}
	contents, err := order(pages)
	if err != nil {
		return err
	}
	s := site{root: root, pages: pages, copied: map[string]bool{}}
	for _, file := range slices.Sorted(maps.Keys(pages)) {
		s.link(pages[file])
	}
	if len(s.wrong) > 0 {
		return errors.Join(s.wrong...)
	}
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	files := map[string][]byte{"style.css": style, "site.js": script, "search.js": index(pages)}
	for file := range s.copied {
		if files[strings.TrimPrefix(file, "docs/")], err = os.ReadFile(filepath.Join(root, file)); err != nil {
			return err
		}
	}
	shape := template.Must(template.New("page").Funcs(template.FuncMap{"escape": html.EscapeString}).Parse(layout))
	for _, p := range pages {
		var body, all bytes.Buffer
		if err := markdown.Renderer().Render(&body, p.source, p.tree); err != nil {
			return err
		}
		up := strings.Repeat("../", strings.Count(p.out, "/"))
		err := shape.Execute(&all, map[string]any{
			"Title": p.title, "Body": body.String(), "Up": up, "Contents": contents, "Out": p.out, "Version": version, "Source": repository + "/blob/main/" + p.file,
		})
		if err != nil {
			return err
		}
		files[p.out] = all.Bytes()
	}
	for name, data := range files {
		name = filepath.Join(out, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, data, 0o644)); err != nil {
			return err
		}
	}
	fmt.Printf("%s: %d pages\n", filepath.Join(out, "index.html"), len(pages))
	return nil
}

// markdown returns the language of the documents, which is GitHub's.
func markdown() goldmark.Markdown {
	return goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithParserOptions(parser.WithAutoHeadingID()))
}

// load parses all documents.
func load(root string, markdown goldmark.Markdown) (map[string]*page, error) {
	pages := map[string]*page{}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/adr/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return nil, err
		}
		for _, name := range found {
			source, err := os.ReadFile(name)
			if err != nil {
				return nil, err
			}
			file, _ := filepath.Rel(root, name)
			p := &page{file: file, out: outOf(file), source: source, ids: map[string]bool{}}
			p.tree = markdown.Parser().Parse(text.NewReader(source), parser.WithContext(parser.NewContext(parser.WithIDs(anchors(p.ids)))))
			p.title = plain(p.tree.FirstChild(), source)
			pages[file] = p
		}
	}
	return pages, nil
}

// outOf returns the page of a document: README.md is index.html, docs/report.md is report.html.
func outOf(file string) string {
	if file == "README.md" {
		return "index.html"
	}
	return strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(file, "docs/"), ".md")) + ".html"
}

// plain returns the text of a node without its marks.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // it has no errors of its own
		switch t := n.(type) {
		case *ast.Text:
			if entering {
				b.Write(t.Segment.Value(source))
				b.WriteByte(' ')
			}
		case *ast.CodeBlock, *ast.FencedCodeBlock:
			if entering {
				b.Write(t.Lines().Value(source))
			}
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(strings.Fields(b.String()), " ")
}

// site is what links may lead to.
type site struct {
	root   string
	pages  map[string]*page
	copied map[string]bool // files of docs/ that pages show or link to
	wrong  []error
}

// link changes the links of a page to those of the site.
func (s *site) link(p *page) {
	_ = ast.Walk(p.tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // it has no errors of its own
		switch t := n.(type) {
		case *ast.Link:
			if entering {
				t.Destination = []byte(s.destination(p, string(t.Destination)))
			}
		case *ast.Image:
			if entering {
				t.Destination = []byte(s.destination(p, string(t.Destination)))
			}
		}
		return ast.WalkContinue, nil
	})
}

// destination returns where a link of a page leads to in the site.
func (s *site) destination(p *page, link string) string {
	if strings.Contains(link, "://") || strings.HasPrefix(link, "mailto:") {
		return link
	}
	name, fragment, _ := strings.Cut(link, "#")
	file := p.file
	if name != "" {
		file = path.Join(path.Dir(p.file), name)
	}
	up := strings.Repeat("../", strings.Count(p.out, "/"))
	if to := s.pages[file]; to != nil {
		if fragment != "" && !to.ids[fragment] {
			s.wrong = append(s.wrong, fmt.Errorf("%s links to %s, and %s has no such heading", p.file, link, file))
		}
		if fragment != "" {
			fragment = "#" + fragment
		}
		return up + to.out + fragment
	}
	info, err := os.Stat(filepath.Join(s.root, file))
	switch {
	case err != nil:
		s.wrong = append(s.wrong, fmt.Errorf("%s links to %s: %w", p.file, link, err))
		return link
	case info.IsDir():
		return repository + "/tree/main/" + file
	case strings.HasPrefix(file, "docs/"):
		s.copied[file] = true
		return up + strings.TrimPrefix(file, "docs/")
	default:
		return repository + "/blob/main/" + file
	}
}
