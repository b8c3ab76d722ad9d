package runflags

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/loadctl/loadctl/targets"
)

// typedHelp is the help about the Content-Type of a body.
const typedHelp = "Without a Content-Type it gets one: JSON, form (k=v&…), else application/octet-stream"

// typed adds a Content-Type that fits to a body without one: many servers refuse a body without a type.
func typed(t *targets.Spec) {
	given := func(h targets.Header) bool { return http.CanonicalHeaderKey(h.Name) == "Content-Type" }
	if len(t.Body) == 0 || !targets.HasHeaders(t.URL) || slices.ContainsFunc(t.Headers, given) {
		return
	}
	kind := "application/json" // of a preset, whatever placeholders make of it
	if t.Stream.Preset == "" {
		kind = contentType(t.ExampleBody())
	}
	t.Headers = append(t.Headers, targets.Header{Name: "Content-Type", Value: kind})
}

// contentType returns the type that a body looks like. A JSON text that is neither object nor array, such as 5, may be
// something else.
func contentType(body []byte) string {
	switch text := bytes.TrimSpace(body); {
	case len(text) > 0 && (text[0] == '{' || text[0] == '[') && json.Valid(text):
		return "application/json"
	case isForm(body):
		return "application/x-www-form-urlencoded"
	default:
		return "application/octet-stream"
	}
}

// isForm reports whether a body looks like an HTML form: name=value&…, with other characters written as %XX.
func isForm(body []byte) bool {
	for pair := range bytes.SplitSeq(body, []byte("&")) {
		name, value, ok := bytes.Cut(pair, []byte("="))
		if !ok || len(name) == 0 || bytes.ContainsFunc(name, escapedInForms) || bytes.ContainsFunc(value, escapedInForms) {
			return false
		}
	}
	return true
}

// escapedInForms lists the characters that are escaped in a name or value.
func escapedInForms(r rune) bool {
	return r <= ' ' || r > '~' || strings.ContainsRune("\"#<=>\\^`{|}", r)
}

// readHex reads bytes written as hex digits, in pairs, with or without space between them.
func readHex(text string) ([]byte, error) {
	b, err := hex.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil {
		return nil, errors.New("write pairs of hex digits, such as 50 49 4e 47 0a")
	}
	return b, nil
}
