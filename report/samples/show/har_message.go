package show

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/loadctl/loadctl/report/samples"
)

type harRequest struct {
	Method      string      `json:"method"`
	URL         string      `json:"url"`
	HTTPVersion string      `json:"httpVersion"`
	Cookies     []harCookie `json:"cookies"`
	Headers     []harField  `json:"headers"`
	Query       []harField  `json:"queryString"`
	Posted      *harPosted  `json:"postData,omitempty"`
	HeadersSize int64       `json:"headersSize"` // -1 = unknown
	BodySize    int64       `json:"bodySize"`
}

type harResponse struct {
	Status      int         `json:"status"` // 0 = none came
	StatusText  string      `json:"statusText"`
	HTTPVersion string      `json:"httpVersion"`
	Cookies     []harCookie `json:"cookies"`
	Headers     []harField  `json:"headers"`
	Content     harContent  `json:"content"`
	Redirect    string      `json:"redirectURL"`
	HeadersSize int64       `json:"headersSize"` // -1 = unknown
	BodySize    int64       `json:"bodySize"`    // -1 = unknown
	Error       string      `json:"_error,omitempty"`
}

// A harField is a header or a parameter.
type harField struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type harCookie struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Path   string `json:"path,omitempty"`
	Domain string `json:"domain,omitempty"`
}

type harPosted struct {
	Type     string     `json:"mimeType"`
	Params   []harField `json:"params"`
	Text     string     `json:"text"`
	Encoding string     `json:"encoding,omitempty"` // as in content; HAR 1.2 has none here, and browsers write it so
	Comment  string     `json:"comment,omitempty"`
}

type harContent struct {
	Size     int64  `json:"size"`
	Type     string `json:"mimeType"`
	Text     string `json:"text,omitempty"`
	Encoding string `json:"encoding,omitempty"`
	Comment  string `json:"comment,omitempty"`
}

// harRequestOf returns what was sent. The sample has a request.
func harRequestOf(s *samples.Sample) harRequest {
	m, u := s.Request, address(s)
	method, _ := requestLine(s)
	r := harRequest{
		Method: method, URL: u.String(), HTTPVersion: version(s), Cookies: []harCookie{}, Headers: harHeaders(m), Query: query(u),
		HeadersSize: -1, BodySize: m.Length,
	}
	for _, value := range values(m, "Cookie") {
		cookies, _ := http.ParseCookie(value) // what is no cookie is among the headers
		for _, c := range cookies {
			r.Cookies = append(r.Cookies, harCookie{Name: c.Name, Value: c.Value})
		}
	}
	if m.Length > 0 || m.Body != "" {
		body, encoding := text(m)
		r.Posted = &harPosted{Type: strings.Join(values(m, "Content-Type"), ", "), Params: []harField{}, Text: body, Encoding: encoding, Comment: strings.Join(remarks(m), "; ")}
	}
	return r
}

// harResponseOf returns what came.
func harResponseOf(s *samples.Sample) harResponse {
	r := harResponse{HTTPVersion: version(s), Cookies: []harCookie{}, Headers: []harField{}, HeadersSize: -1, BodySize: -1, Error: s.Error}
	m := s.Response
	if m == nil {
		return r
	}
	r.Status, _ = strconv.Atoi(s.Status) // a name of gRPC is none of HTTP
	r.StatusText = http.StatusText(r.Status)
	if words := strings.SplitN(m.Start, " ", 3); len(words) == 3 {
		r.StatusText = words[2]
	}
	r.Headers, r.BodySize = harHeaders(m), m.Length
	r.Redirect = strings.Join(values(m, "Location"), ", ")
	for _, value := range values(m, "Set-Cookie") {
		if c, err := http.ParseSetCookie(value); err == nil {
			r.Cookies = append(r.Cookies, harCookie{c.Name, c.Value, c.Path, c.Domain})
		}
	}
	r.Content = harContent{Size: m.Length, Type: strings.Join(values(m, "Content-Type"), ", "), Comment: strings.Join(remarks(m), "; ")}
	r.Content.Text, r.Content.Encoding = text(m)
	return r
}

// harHeaders returns all headers in their order.
func harHeaders(m *samples.Message) []harField {
	fields := []harField{}
	for _, h := range m.Headers {
		fields = append(fields, harField(h))
	}
	return fields
}

// values returns the values of a header, in any case of its name.
func values(m *samples.Message, name string) (all []string) {
	for _, h := range m.Headers {
		if strings.EqualFold(h.Name, name) {
			all = append(all, h.Value)
		}
	}
	return all
}
