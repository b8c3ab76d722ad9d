package show

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/loadctl/loadctl/internal/output/printable"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/samples"
)

// Curl writes a shell command for each sample that repeats the request with curl: the same bytes, as far as they were kept.
// Comments say what is not the same, and which samples curl cannot send.
func Curl(w io.Writer, s Selection) error {
	var b bytes.Buffer
	for i := range s.Samples {
		if i > 0 {
			b.WriteByte('\n')
		}
		one := &s.Samples[i]
		step := ""
		if one.Step != "" {
			step = ", step " + one.Step
		}
		printable.Fprintf(&b, "# request %d of worker %s%s: %s\n", one.Ordinal, one.Worker, step, result(one))
		command(&b, one)
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("write curl: %w", err)
	}
	return nil
}

// token matches what may be a method or the name of a header. curl reads a file for one that begins with @.
var token = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

// plainTarget matches targets that curl sends as they are.
var plainTarget = regexp.MustCompile(`^/[-A-Za-z0-9._~!$&'()*+,;=:@/%?\[\]]*$`)

// command writes the command of a sample, or why there is none.
func command(b *bytes.Buffer, s *samples.Sample) {
	method, target := requestLine(s)
	switch u := address(s); {
	case !s.Whole():
		b.WriteString("# only its times were kept\n")
	case !overHTTP(s) && u != nil:
		printable.Fprintf(b, "# curl cannot repeat a request over %s: %s\n", protocol(u.Scheme), u.String())
	case u == nil:
		b.WriteString("# its URL is not known\n")
	case !token.MatchString(method):
		printable.Fprintf(b, "# its method is not one of HTTP: %s\n", method)
	default:
		body, exact := bodyOf(s.Request)
		caveats(b, s, exact)
		args := []string{"curl -i -g --path-as-is", versionFlag(s, u.Scheme), methodFlag(method, body)}
		args = append(args, headerFlags(b, s, len(body) > 0, exact)...)
		pipe, data := dataFlag(body)
		args = append(args, data)
		if target == u.RequestURI() && plainTarget.MatchString(target) {
			args = append(args, word(u.String()))
		} else {
			args = append(args, "--request-target", word(target), word(u.Scheme+"://"+u.Host+"/"))
		}
		args = slices.DeleteFunc(args, func(a string) bool { return a == "" })
		b.WriteString(pipe + strings.Join(args, " ") + "\n") // each word is quoted: Fprintf would change what is quoted
	}
}

// protocol names what a scheme stands for.
func protocol(scheme string) string {
	switch scheme {
	case "grpc", "grpcs":
		return "gRPC (grpcurl can)"
	case "ws", "wss":
		return "WebSocket"
	}
	return scheme
}

// caveats writes comments about what is not as it was sent.
func caveats(b *bytes.Buffer, s *samples.Sample, exact bool) {
	if s.Request.Secrets {
		b.WriteString("# fill in what is [redacted]\n")
	}
	if s.Request.Cut {
		printable.Fprintf(b, "# the body is not whole: it had %d bytes\n", s.Request.Length)
	} else if !exact {
		printable.Fprintf(b, "# the body is not as it was sent: it had %d bytes\n", s.Request.Length)
	}
	if method, _ := requestLine(s); method == "HEAD" && s.Request.Length > 0 {
		b.WriteString("# curl waits for a body of the answer, which does not come\n")
	}
}

// bodyOf returns the body as far as it was kept, and whether it has the length of the one that was sent.
func bodyOf(m *samples.Message) (body []byte, exact bool) {
	body = []byte(m.Body)
	if raw, err := hex.DecodeString(m.Body); m.Hex && err == nil {
		body = raw
	}
	return body, int64(len(body)) == m.Length
}

// versionFlag returns the flag for the version of HTTP; "" = unknown.
func versionFlag(s *samples.Sample, scheme string) string {
	switch version(s) {
	case "HTTP/1.0":
		return "--http1.0"
	case "HTTP/1.1":
		return "--http1.1"
	case "HTTP/2":
		if scheme == "http" {
			return "--http2-prior-knowledge"
		}
		return "--http2"
	case "HTTP/3":
		return "--http3"
	}
	return ""
}

// methodFlag returns the flag for the method; "" = it is what curl takes. curl takes --head only without a body.
func methodFlag(method string, body []byte) string {
	switch {
	case len(body) == 0 && method == "GET":
		return ""
	case len(body) == 0 && method == "HEAD":
		return "--head"
	}
	return "-X " + report.Quoted(method)
}

// headerFlags returns a flag for each header, and one for each that curl would add. A header that curl cannot send is left out
// with a comment.
func headerFlags(b *bytes.Buffer, s *samples.Sample, hasBody, exact bool) (args []string) {
	m := s.Request
	for _, h := range m.Headers {
		switch {
		case strings.EqualFold(h.Name, "Content-Length") && !exact: // curl counts
		case strings.HasPrefix(h.Name, ":"): // HTTP/2 has the request line there
		case !token.MatchString(h.Name) || strings.ContainsAny(h.Value, "\r\n\x00"):
			printable.Fprintf(b, "# left out, no header of HTTP: %s\n", h.Name)
		case strings.TrimSpace(h.Value) == "":
			args = append(args, "-H", word(h.Name+";"))
		default:
			args = append(args, "-H", word(h.Name+": "+h.Value))
		}
	}
	own := []string{"User-Agent", "Accept"}
	if hasBody {
		own = append(own, "Content-Type", "Expect")
		if v := version(s); exact && (v == "HTTP/2" || v == "HTTP/3") {
			own = append(own, "Content-Length")
		}
	}
	for _, name := range own {
		if len(values(m, name)) == 0 {
			args = append(args, "-H", word(name+":"))
		}
	}
	return args
}

// dataFlag returns the flag for a body, and what pipes it into curl if it cannot be a word.
func dataFlag(body []byte) (pipe, flag string) {
	text := string(body)
	switch {
	case text == "":
		return "", ""
	case !quotable(strings.NewReplacer("\n", "", "\t", "").Replace(text)):
		return "printf '" + octal(text) + "' | ", "--data-binary @-"
	case text[0] == '@': // --data-binary would read a file
		return "", "--data-raw " + quoted(text)
	}
	return "", "--data-binary " + quoted(text)
}
