package wire

import (
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/template"
)

// redirects are the rules for the redirects of one step. They never change.
type redirects struct {
	spec       targets.Spec
	url        *url.URL
	routes     targets.Routes
	allow      func(hostport string) bool // nil = only the spec's own host
	credential *targets.Credential
}

// newRedirects returns those of a valid spec, whose requests go to u.
func newRedirects(s targets.Spec, u *url.URL, local targets.Local) (redirects, error) {
	routes, err := targets.ParseRoutes(s.ConnectTo)
	return redirects{s, u, routes, local.AllowHost, local.Credential}, err
}

// endpoint returns where to connect for requests to u.
func (r *redirects) endpoint(u *url.URL) Endpoint { return EndpointOf(r.spec, u, r.routes) }

// next returns the request that a redirect asks for, after m was answered with status.
func (r *redirects) next(m *message, status int, location string, session *targets.Session) (*message, error) {
	base := m.filledURL()
	u, err := base.Parse(location)
	if err != nil {
		return nil, errors.New("follow redirect: the location is not a URL")
	}
	if u.Scheme != "http" && u.Scheme != "https" || targets.CheckHost(u) != nil || checkThree(r.spec, u) != nil {
		return nil, errors.New("follow redirect: the location is not of HTTP, or not of this version")
	}
	if !r.allowed(u) {
		return nil, errors.New("follow redirect: the host is not allowed")
	}
	next, err := newMessage(redirected(m.filledSpec(), base, u, status), u, r.endpoint(u), literally, r.credential)
	if err != nil || next.wire != nil {
		return next, err
	}
	// Only credential, signature, cookies and trace context vary. The trace is that of the request that was redirected.
	return next.filled(template.Request{Time: time.Now().UnixNano(), Number: m.request.Number, Trace: m.request.Trace, Step: m.request.Step}, session), nil
}

// allowed reports whether a redirect may lead to u. Without a rule only the spec's own host is allowed: no other host
// gets requests.
func (r *redirects) allowed(u *url.URL) bool {
	want := net.JoinHostPort(u.Hostname(), targets.Port(u))
	if strings.EqualFold(want, net.JoinHostPort(r.url.Hostname(), targets.Port(r.url))) {
		return true
	}
	if r.allow == nil {
		return strings.EqualFold(u.Hostname(), r.url.Hostname())
	}
	to := r.endpoint(u)
	return r.allow(want) && (to.Network == "unix" || to.Address == want || r.allow(to.Address))
}

// redirected returns the spec of the request after a redirect from one URL to another. The method changes as in
// browsers (RFC 9110, 15.4). Another host gets no secrets.
func redirected(s targets.Spec, from, to *url.URL, status int) targets.Spec {
	method := s.EffectiveMethod()
	seeOther := status == http.StatusSeeOther && method != http.MethodHead
	moved := (status == http.StatusMovedPermanently || status == http.StatusFound) && method == http.MethodPost
	// 307 and 308 never change the method; for 301 and 302 all clients turn only POST into GET.
	if seeOther || moved {
		s.Method, s.Body = http.MethodGet, nil
	} else {
		s.Method = method // it may have followed from the body
	}
	// A redirect from https to http counts as another host: secrets stay encrypted.
	sameHost := strings.EqualFold(from.Host, to.Host) && (from.Scheme == to.Scheme || to.Scheme == "https")
	var kept []targets.Header
	for _, h := range s.Headers {
		isHost := http.CanonicalHeaderKey(h.Name) == "Host"
		isBody := strings.HasPrefix(http.CanonicalHeaderKey(h.Name), "Content-")
		switch {
		case isHost && !sameHost, isBody && len(s.Body) == 0, !targets.Harmless(h.Name) && !sameHost:
			continue
		}
		kept = append(kept, h)
	}
	s.Headers = kept
	if !sameHost {
		s.Auth = ""
	}
	if sameHost && to.User == nil {
		to.User = from.User
	}
	return s
}
