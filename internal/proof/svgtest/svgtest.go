// Package svgtest reads pictures, for tests.
package svgtest

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

// Texts returns the texts of a picture, which must be XML without invalid numbers.
func Texts(t *testing.T, picture string) map[string]bool {
	t.Helper()
	if strings.Contains(picture, "NaN") || strings.Contains(picture, "Inf") {
		t.Errorf("not a number:\n%s", picture)
	}
	all := map[string]bool{}
	for d := xml.NewDecoder(strings.NewReader(picture)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("%v:\n%s", err, picture)
		}
		if text, ok := token.(xml.CharData); ok {
			all[string(text)] = true
		}
	}
}
