// Package importer makes workload files of what other programs have recorded: HAR files of browsers, curl command lines,
// vegeta targets and access logs.
//
//	text, err := importer.Workload(file, importer.Options{Name: "shop.har"})
//	if err != nil { … } // one line, such as shop.har: entry 3: …
//	os.WriteFile("shop.yaml", text, 0o600)
//
// Guarantees: the same input makes the same text. workload.YAML reads it, and its steps are valid requests. Values of
// headers, parameters and fields whose names suggest a secret are not in it, unless it is made of targets or of a log:
// then those of headers are not. Memory is bounded: see Most. It opens no files but those that a
// curl command names with -F, and those of bodies.
package importer

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/loadctl/loadctl/internal/input/draft"
	"github.com/loadctl/loadctl/internal/input/workload"
	"github.com/loadctl/loadctl/internal/output/printable"
	"github.com/loadctl/loadctl/pacer/accesslog"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/rows"
	"github.com/loadctl/loadctl/targets/wire"
)

// The formats.
const (
	HAR    = "har"
	Curl   = "curl"
	Vegeta = "vegeta"
	Log    = "log"
)

// Formats returns the formats that can be read.
func Formats() []string { return []string{HAR, Curl, Vegeta, Log} }

// Most returns the size of the largest input of a format, in bytes. Of a log only its patterns are kept in memory.
func Most(format string) int64 {
	switch format {
	case HAR:
		return 64 << 20
	case Log:
		return 256 << 20
	default:
		return workload.MostBytes
	}
}

// Options say how an input is read. Only Name has to be set.
type Options struct {
	Name     string // of the input, for errors and comments
	Format   string // one of Formats; "" = the content shows it
	Base     string // URL to send to, instead of the first one that was recorded; a log needs it
	OnlyHost string // of a HAR file, with its port if the URLs have one; "" = that of the first entry
	NoStatic bool   // leave out the images, fonts, styles and scripts of a HAR file
	Out      string // path of the workload file, as names of bodies are relative to it; "" = in the working directory
	Steps    bool   // make one flow of all curl commands; false = a flow of each
}

// Workload returns a workload file. An error is one line: what is wrong, where, and what to do. It shows no values that
// may be secrets.
func Workload(in io.Reader, o Options) ([]byte, error) {
	content := bufio.NewReaderSize(in, 64<<10)
	if o.Format == "" {
		var err error
		if o.Format, err = formatOf(content); err != nil {
			return nil, fmt.Errorf("%s: %w", o.Name, err)
		}
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	f, err := o.read(content)
	if err != nil {
		return nil, err
	}
	text := f.Text()
	return text, o.accepted(text, f.Data())
}

// check checks that the options fit the format.
func (o Options) check() error {
	u, err := url.Parse(o.Base)
	wrong := err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || strings.ContainsAny(o.Base, "?#")
	switch {
	case !slices.Contains(Formats(), o.Format):
		return fmt.Errorf("there is no format %.20q; give one of %s", o.Format, strings.Join(Formats(), ", "))
	case o.Base != "" && wrong:
		return errors.New("the base is no URL without user and query; give such as https://staging.test")
	case o.Base == "" && o.Format == Log:
		return errors.New("an access log does not say which host to send to; give the base, such as --base https://staging.test")
	case o.OnlyHost != "" && o.Format != HAR:
		return fmt.Errorf("only a HAR file has third parties, and this is %s; leave --only-host out", o.Format)
	case o.NoStatic && o.Format != HAR:
		return fmt.Errorf("only a HAR file says what is static, and this is %s; leave --no-static out", o.Format)
	case o.Steps && o.Format != Curl:
		return fmt.Errorf("only curl commands may become steps, and this is %s; leave --steps out", o.Format)
	}
	return nil
}

// read reads an input of a known format.
func (o Options) read(in *bufio.Reader) (*draft.File, error) {
	if o.Format == Log {
		return o.log(in)
	}
	content, err := io.ReadAll(io.LimitReader(in, Most(o.Format)+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", o.Name, err)
	case int64(len(content)) > Most(o.Format):
		return nil, fmt.Errorf("%s: is larger than %d MiB; import a part of it", o.Name, Most(o.Format)>>20)
	}
	content = bytes.TrimPrefix(content, []byte("\ufeff"))
	switch o.Format {
	case HAR:
		return o.har(content)
	case Curl:
		return o.curl(content)
	default:
		return o.vegeta(content)
	}
}

// accepted makes sure that the text is a valid workload: what is not was not found above.
func (o Options) accepted(text []byte, data []rows.Source) error {
	w, err := workload.YAML(cmp.Or(o.Out, "workload.yaml"), text)
	if err == nil {
		s := targets.Spec{Data: data}
		for _, f := range w.Flows {
			s.Flows = append(s.Flows, f.Flow)
		}
		err = wire.Validate(s)
	}
	if err != nil {
		return fmt.Errorf("%s: the workload made of it is not valid: %w", o.Name, err)
	}
	return nil
}

// The beginnings of formats.
var (
	beginsHAR    = regexp.MustCompile(`^\{\s*"log"\s*:`)
	beginsVegeta = regexp.MustCompile(`^(?:\{.*"url"|(?:[A-Z]+[ \t]+)?https?://)`)
	beginsCurl   = regexp.MustCompile(`^(?:\$ )?curl(?:\.exe)?(?:\s|\\|$)`)
)

// formatOf finds the format by the first line that is no comment.
func formatOf(in *bufio.Reader) (string, error) {
	head, err := in.Peek(in.Size())
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	if bytes.HasPrefix(head, []byte("\x1f\x8b")) {
		return "", errors.New("is compressed; unpack it first, as with gunzip")
	}
	text := strings.TrimSpace(strings.TrimPrefix(string(head), "\ufeff"))
	if text == "" {
		return "", errors.New("is empty; give a HAR file, curl commands, vegeta targets or an access log")
	}
	found, other := accesslog.Of(text)
	switch {
	case beginsHAR.MatchString(text):
		return HAR, nil
	case found != nil && strings.HasPrefix(text, "#") && strings.Contains(text, "#Fields:"):
		return Log, nil
	}
	for strings.HasPrefix(text, "#") {
		_, text, _ = strings.Cut(text, "\n")
		text = strings.TrimSpace(text)
	}
	line, _, _ := strings.Cut(text, "\n")
	switch first, _ := accesslog.Of(line); {
	case beginsCurl.MatchString(line):
		return Curl, nil
	case first != nil:
		return Log, nil
	case beginsVegeta.MatchString(line):
		return Vegeta, nil
	case found != nil:
		return Log, nil
	case other != "":
		return "", accesslog.Unread(other)
	}
	return "", fmt.Errorf("its first line does not tell what it is; give --format %s", strings.Join(Formats(), ", "))
}

// shown is the name of the input for a comment.
func (o Options) shown() string { return printable.Clip(cmp.Or(o.Name, "-"), 200) }
