package main

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// section is what a search finds: a heading and the text below it.
type section struct {
	Page    string `json:"page"`
	Heading string `json:"heading"`
	Out     string `json:"out"`
	Text    string `json:"text"`
}

// index returns a script with all sections. It is a script, because a page of a file may not read other files.
func index(pages map[string]*page) []byte {
	var all []section
	for _, file := range slices.Sorted(maps.Keys(pages)) {
		p := pages[file]
		at := section{Page: p.title, Heading: p.title, Out: p.out}
		for n := p.tree.FirstChild(); n != nil; n = n.NextSibling() {
			heading, is := n.(*ast.Heading)
			if !is {
				at.Text = strings.TrimSpace(at.Text + " " + plain(n, p.source))
				continue
			}
			if at.Text != "" {
				all = append(all, at)
			}
			at = section{Page: p.title, Heading: plain(heading, p.source), Out: p.out}
			if id, ok := heading.AttributeString("id"); ok && heading.Level > 1 {
				at.Out += "#" + string(id.([]byte))
			}
		}
		all = append(all, at)
	}
	text, err := json.Marshal(all)
	if err != nil {
		panic(err) // strings can be written
	}
	return []byte("window.sections = " + string(text) + ";\n")
}
