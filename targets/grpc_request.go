package targets

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/loadctl/loadctl/targets/grpc"
	"github.com/loadctl/loadctl/targets/template"
)

// A grpcRequest makes the bytes of a call: a block of headers, and the message with its prefix. It never changes, so calls
// in flight share it.
type grpcRequest struct {
	method *grpc.Method  // nil = the body is an encoded message
	block  []byte        // of headers that do not vary
	fields []grpcField   // headers that vary
	body   template.Text // JSON
	fixed  []byte        // the message with its prefix; nil if it varies
}

// A grpcField is a header that varies.
type grpcField struct {
	name  string
	value template.Text
}

// newGRPCRequest returns the request of s. Its error says what it cannot be made of.
func newGRPCRequest(s Spec, u *url.URL, method *grpc.Method, parse parser, c *Credential) (*grpcRequest, error) {
	q := &grpcRequest{method: method}
	authority, agent := u.Host, "loadctl"
	for name, into := range map[string]*string{"Host": &authority, "User-Agent": &agent} {
		if given := values(s.Headers, name); len(given) > 0 {
			*into = given[0]
		}
	}
	q.block = grpc.AppendTarget(nil, u.Scheme == "grpcs", u.Path, authority)
	for _, f := range [][2]string{{"te", "trailers"}, {"content-type", "application/grpc"}, {"user-agent", agent}, {"grpc-timeout", grpcTimeout(s.timeout())}} {
		q.block = grpc.AppendField(q.block, f[0], f[1])
	}
	value, given, err := s.authorizationValue(u, c)
	if err != nil {
		return nil, err
	}
	if given {
		q.add("authorization", value)
	}
	for i, h := range s.Headers {
		text, err := parse(h.Value, saltHeaders+uint64(i))
		if err != nil {
			return nil, fmt.Errorf("header %s: %w", h.Name, err)
		}
		switch name := http.CanonicalHeaderKey(h.Name); {
		case (name == "Host" || name == "User-Agent") && text.Varies():
			return nil, fmt.Errorf("header %s: has no placeholders over gRPC; write its value", h.Name)
		case name == "Host", name == "User-Agent":
			continue
		case strings.HasSuffix(name, "-Bin") && !text.Varies():
			plain, ok := grpc.Binary(h.Value)
			if !ok {
				return nil, fmt.Errorf("header %s: the value is no base64; a name that ends with -bin needs that", h.Name)
			}
			text = template.Literal(plain)
		}
		q.add(strings.ToLower(h.Name), text)
	}
	if q.body, err = parse(string(s.Body), saltBody); err != nil {
		return nil, fmt.Errorf("body: %w", err)
	}
	return q, q.checkBody(s)
}

// add adds a header, among those that vary once one does: their order stays.
func (q *grpcRequest) add(name string, value template.Text) {
	if len(q.fields) == 0 && !value.Varies() {
		q.block = grpc.AppendField(q.block, name, string(value.Append(nil, template.Request{})))
		return
	}
	q.fields = append(q.fields, grpcField{name, value})
}

// checkBody encodes the message. One that varies may not fit with what stands for its placeholders, and fit later.
func (q *grpcRequest) checkBody(s Spec) (err error) {
	var r template.Request
	for range s.taken {
		r.Taken = append(r.Taken, exampleCell)
	}
	b, err := q.message(nil, nil, r)
	wrong, isShape := errors.AsType[*grpc.MessageError](err)
	switch {
	case err == nil && !q.body.Varies():
		q.fixed = b
	case err != nil && (!isShape || wrong.Shape || !q.body.Varies()):
		return fmt.Errorf("body: %w", err)
	}
	return nil
}

// headers returns the block of headers of a call. If it varies, it is written into b.
func (q *grpcRequest) headers(b []byte, r template.Request) []byte {
	if len(q.fields) == 0 {
		return q.block
	}
	b = append(b[:0], q.block...)
	for i := range q.fields {
		b = grpc.AppendName(b, q.fields[i].name)
		b = grpc.AppendValue(b, func(b []byte) []byte { return q.fields[i].value.Append(b, r) })
	}
	return b
}

// message returns the message of a call, with its prefix. If it varies, it is written into b, and its JSON into text.
func (q *grpcRequest) message(b, text []byte, r template.Request) ([]byte, error) {
	if q.fixed != nil {
		return q.fixed, nil
	}
	return grpc.AppendMessage(b[:0], func(b []byte) ([]byte, error) {
		if q.method == nil {
			return q.body.Append(b, r), nil
		}
		return q.method.AppendRequest(b, q.body.Append(text[:0], r))
	})
}

// grpcTimeout writes a time as the protocol wants it: at most eight digits.
func grpcTimeout(d time.Duration) string {
	if ms := (d + time.Millisecond - 1) / time.Millisecond; ms < 1e8 {
		return strconv.FormatInt(int64(ms), 10) + "m"
	}
	return strconv.FormatInt(int64(min(d/time.Second, 1e8-1)), 10) + "S"
}
