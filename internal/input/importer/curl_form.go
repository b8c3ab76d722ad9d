package importer

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/loadctl/loadctl/internal/input/workload"
)

// A formPart is what one -F sends.
type formPart struct {
	name, contentType string
	file              string // the name that the server sees; "" = a text
	body              []byte
}

// fieldText takes --form-string NAME=TEXT, in which nothing is special.
func (c *command) fieldText(value string) error {
	name, text, found := strings.Cut(value, "=")
	if !found {
		return c.fail("the form has no =; write -F NAME=TEXT")
	}
	c.parts = append(c.parts, formPart{name: name, body: []byte(text)})
	return nil
}

// field takes -F NAME=TEXT, NAME=@FILE or NAME=<FILE, with ;type= and ;filename= behind it.
func (c *command) field(value string) error {
	name, rest, found := strings.Cut(value, "=")
	if !found {
		return c.fail("the form has no =; write -F NAME=TEXT")
	}
	p := formPart{name: name}
	rest, upload := strings.CutPrefix(rest, "@")
	read := upload
	if !upload {
		rest, read = strings.CutPrefix(rest, "<")
	}
	content, rest, err := formWord(rest)
	if err != nil {
		return c.fail("%w", err)
	}
	if err := p.settings(rest); err != nil {
		return c.fail("%w", err)
	}
	switch {
	case !read:
		p.body = []byte(content)
	case content == "" || content == "-" || strings.Contains(content, ",") || strings.HasPrefix(content, "("):
		return c.fail("a part of -F is one file, and no standard input; give such as -F NAME=@FILE")
	default:
		if p.body, err = formFile(content); err != nil {
			return c.fail("%w", err)
		}
		if c.read += len(p.body); c.read > workload.MostBytes {
			return c.fail("the files of -F have more than the %d MiB that a workload file may have; give smaller ones", workload.MostBytes>>20)
		}
	}
	switch {
	case upload:
		p.file = cmp.Or(p.file, filepath.Base(content))
		p.contentType = cmp.Or(p.contentType, typeOfFile(p.file), typeOfFile(content), "application/octet-stream")
	case read:
		p.file = "" // curl takes the content only
	case p.file != "":
		p.contentType = cmp.Or(p.contentType, typeOfFile(p.file))
	}
	c.parts = append(c.parts, p)
	return nil
}

// formWord returns a text up to a semicolon, without the quotes and blanks around it.
func formWord(text string) (word, rest string, err error) {
	text = strings.TrimLeft(text, " \t")
	if !strings.HasPrefix(text, `"`) {
		end := strings.IndexByte(text, ';')
		if end < 0 {
			end = len(text)
		}
		return strings.TrimRight(text[:end], " \t"), text[end:], nil
	}
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			rest = strings.TrimLeft(text[i+1:], " \t")
			if rest != "" && rest[0] != ';' {
				return "", "", errors.New("a text follows the quotes of -F; remove it")
			}
			return b.String(), rest, nil
		case c == '\\' && i+1 < len(text) && (text[i+1] == '"' || text[i+1] == '\\'):
			i++
			b.WriteByte(text[i])
		default:
			b.WriteByte(c)
		}
	}
	return "", "", errors.New(`the quote " of -F is not closed; add one at the end of the text`)
}

// settings reads ;type=TYPE and ;filename=NAME. A type may have parameters of its own, such as ;charset=utf-8.
func (p *formPart) settings(rest string) (err error) {
	for rest != "" {
		if name, ok := strings.CutPrefix(strings.TrimLeft(rest[1:], " \t"), "filename="); ok {
			if p.file, rest, err = formWord(name); err != nil {
				return err
			}
			continue
		}
		one, more, next := strings.Cut(rest[1:], ";")
		key, value, found := strings.Cut(strings.TrimSpace(one), "=")
		switch {
		case key == "type" && found:
			p.contentType = value
		case p.contentType != "" && found && key != "headers" && key != "encoder":
			p.contentType += ";" + one
		case key != "" || found:
			return errors.New("behind ; only type= and filename= of -F are known here; remove the rest, or put the text in double quotes")
		}
		if rest = ""; next {
			rest = ";" + more
		}
	}
	return nil
}

// formFile reads a file for a part of a form. A workload file holds text.
func formFile(name string) ([]byte, error) {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, fmt.Errorf("-F: %w; give the path of a file that can be read", err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("-F: %.200q is no regular file; give one", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("-F: %w; give the path of a file that can be read", err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	body, err := io.ReadAll(io.LimitReader(f, workload.MostBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("-F: %w", err)
	case len(body) > workload.MostBytes:
		return nil, fmt.Errorf("-F: %.200q is larger than %d MiB, as a workload file may be; give a smaller one", name, workload.MostBytes>>20)
	case !utf8.Valid(body):
		return nil, fmt.Errorf("-F: %.200q is no UTF-8 text, and a workload file holds text; save the whole body to a file, and give that to body_file in the workload", name)
	}
	return body, nil
}

// typeOfFile returns the type that curl derives from the end of a name; "" = none.
func typeOfFile(name string) string {
	return map[string]string{
		".gif": "image/gif", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".png": "image/png", ".svg": "image/svg+xml",
		".txt": "text/plain", ".htm": "text/html", ".html": "text/html", ".pdf": "application/pdf", ".xml": "application/xml",
	}[strings.ToLower(filepath.Ext(name))]
}

// form makes the body of the parts. curl's boundary is random, and this one follows from the parts: the same input makes
// the same text.
func (c *command) form() error {
	const multipart = "multipart/form-data"
	if h := c.given("Content-Type"); h != nil && !strings.EqualFold(h.Value, multipart) || h == nil && slices.Contains(c.removed, "Content-Type") {
		return c.fail("-F has its own Content-Type; remove that of -H")
	}
	boundary := ""
	for n := 0; boundary == "" || c.inParts(boundary); n++ {
		boundary = fmt.Sprintf("------------------------%x", sha256.Sum256(fmt.Append(nil, n, c.parts)))[:40]
	}
	escape := strings.NewReplacer(`"`, "%22", "\r", "%0D", "\n", "%0A").Replace
	var b bytes.Buffer
	for _, p := range c.parts {
		fmt.Fprintf(&b, "--%s\r\nContent-Disposition: form-data", boundary)
		if p.name != "" {
			fmt.Fprintf(&b, `; name="%s"`, escape(p.name))
		}
		if p.file != "" {
			fmt.Fprintf(&b, `; filename="%s"`, escape(p.file))
		}
		if p.contentType != "" {
			fmt.Fprintf(&b, "\r\nContent-Type: %s", p.contentType)
		}
		fmt.Fprintf(&b, "\r\n\r\n%s\r\n", p.body)
	}
	fmt.Fprintf(&b, "--%s--\r\n", boundary)
	c.r.Body = b.Bytes()
	typed := multipart + "; boundary=" + boundary
	if h := c.given("Content-Type"); h != nil {
		h.Value = typed
		return nil
	}
	c.choose("Content-Type", typed)
	return nil
}

// inParts reports whether a boundary is in a part.
func (c *command) inParts(boundary string) bool {
	for _, p := range c.parts {
		if bytes.Contains(p.body, []byte(boundary)) {
			return true
		}
	}
	return false
}
