package targets

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// ParseHeader parses "Name: value", as -H takes it. It trims space around name and value; the value may be empty and
// contain colons. A line break is an error, because it would begin another header. The error does not quote the value,
// which may be a secret.
func ParseHeader(s string) (Header, error) {
	name, value, ok := strings.Cut(s, ":")
	if !ok {
		return Header{}, errors.New(`parse header: there is no colon; write "Name: value"`)
	}
	h := Header{Name: strings.TrimSpace(name), Value: strings.TrimSpace(value)}
	if h.Name == "" {
		return Header{}, errors.New(`parse header: there is no name; write "Name: value"`)
	}
	if err := CheckHeaders([]Header{h}); err != nil {
		return Header{}, fmt.Errorf("parse header: %w", err)
	}
	return h, nil
}

// ReadBody returns the body that an argument stands for: the text itself, the content of a file for "@file", or all of
// stdin for "@-". It changes nothing, not even a line end, so a signed or binary body stays intact. A text that begins
// with "@" has to come from a file.
func ReadBody(arg string, stdin io.Reader) ([]byte, error) {
	path, isFile := strings.CutPrefix(arg, "@")
	if !isFile {
		return []byte(arg), nil
	}
	var body []byte
	var err error
	switch path {
	case "":
		err = errors.New(`there is no file name after "@"`)
	case "-":
		body, err = io.ReadAll(stdin)
	default:
		body, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, fmt.Errorf("read body: %w", err)
	}
	return body, nil
}
