// Package format holds the table of formats in which a kind of document can be written.
//
//	formats := format.Table[Report]{{"text", ".txt", Text}, {"json", ".json", JSON}}
//	render, err := formats.Renderer("json")
//	err = render(os.Stdout, report)
package format

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

// A Table lists the formats, the default first.
type Table[T any] []Format[T]

// A Format is a way to write a document: its name for users, and its file ending.
type Format[T any] struct {
	Name, Ending string
	Render       func(w io.Writer, document T) error
}

// Names returns the names of all formats.
func (t Table[T]) Names() []string {
	var names []string
	for _, f := range t {
		names = append(names, f.Name)
	}
	return names
}

// Endings returns the endings that Of knows.
func (t Table[T]) Endings() []string {
	var endings []string
	for _, f := range t {
		endings = append(endings, f.Ending)
	}
	return endings
}

// Of returns the format that the ending of a file name stands for, or "".
func (t Table[T]) Of(path string) string {
	ending := strings.ToLower(filepath.Ext(path))
	for _, f := range t {
		if f.Ending == ending {
			return f.Name
		}
	}
	return ""
}

// Renderer returns the renderer of a format, or an error that lists the names.
func (t Table[T]) Renderer(name string) (func(w io.Writer, document T) error, error) {
	for _, f := range t {
		if f.Name == name {
			return f.Render, nil
		}
	}
	return nil, fmt.Errorf("output %q: want one of %s", name, strings.Join(t.Names(), ", "))
}
