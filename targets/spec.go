package targets

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/loadctl/loadctl/targets/events"
	"github.com/loadctl/loadctl/targets/grpc"
	"github.com/loadctl/loadctl/targets/rows"
	"github.com/loadctl/loadctl/targets/trace"
)

// What the zero values of a Spec mean.
const (
	DefaultTimeout   = 30 * time.Second
	DefaultBodyLimit = 16 << 20 // 16 MiB
	DefaultExpect    = "200-399"

	DefaultExpectGRPC = "OK"
)

// Spec describes a target in a way that can be shared: it is part of the run's
// spec, as JSON, and the same for all workers. Only URL is required. It may
// hold secrets; print Redacted instead.
//
// Path and query of the URL, values of headers, and a body that is UTF-8 may
// have placeholders, which are filled for each request: see package template.
type Spec struct {
	// URL is what is requested; its scheme chooses the target. A user and
	// password in it are sent as basic authorization, or as the login of a Redis.
	URL string `json:"url"`
	// Method of HTTP; "" means GET, or POST if there is a body.
	Method string `json:"method,omitempty"`
	// Headers are sent as they stand, in this order. Host replaces the one
	// from the URL and User-Agent the default, "loadctl".
	Headers []Header `json:"headers,omitempty"`
	// Body is sent with every request. Any bytes: in JSON it is base64.
	Body []byte `json:"body,omitempty"`
	// Data are files whose rows fill placeholders: ${NAME.COLUMN}. The rows come with Local.Tables.
	Data []rows.Source `json:"data,omitempty"`
	// Auth is where the Authorization header of all requests comes from, as ParseAuth reads it; "" = there is none. A
	// request with such a header of its own, or with a user in its URL, keeps that. Local.Credential has the value, but
	// not for basic:USER:PASSWORD, which is a secret itself.
	Auth string `json:"auth,omitempty"`
	// Timeout bounds a whole request, from the call of Do to the last byte of the answer, in ns; 0 means
	// DefaultTimeout.
	Timeout time.Duration `json:"timeout_ns,omitempty"`
	// HTTP is the version of HTTP: "1.1", "2", "3", or "auto" for what an https server chooses of both; "" means "1.1". Plain
	// http with "2" begins to speak HTTP/2 at once (RFC 9113, section 3.3).
	HTTP string `json:"http,omitempty"`
	// Streams is how many requests a connection carries at the same time, with HTTP/2 and HTTP/3; 0 means 1.
	Streams int `json:"streams,omitempty"`
	// NoKeepAlive opens a connection for each request, and closes it afterwards.
	NoKeepAlive bool `json:"no_keep_alive,omitempty"`
	// ConnectTo connects to another address than the URL's, and leaves the Host header and the TLS name unchanged:
	// "HOST1:PORT1:HOST2:PORT2" as in curl. An empty HOST1 or PORT1 matches any; an empty HOST2 or PORT2 changes
	// nothing. IPv6 addresses are in brackets. The first match is used.
	ConnectTo []string `json:"connect_to,omitempty"`
	// UnixSocket is the path of a socket to connect to, instead of the URL's host.
	UnixSocket string `json:"unix_socket,omitempty"`
	// Insecure accepts any server certificate.
	Insecure bool `json:"insecure,omitempty"`
	// CA are PEM certificates to trust instead of the system's.
	CA string `json:"ca,omitempty"`
	// Redirects is how many redirects a request follows, 0 to 20. With 0 a redirect is an answer like any other. Each
	// redirect followed is another request to the server, on top of the run's rate.
	Redirects int `json:"redirects,omitempty"`
	// BodyLimit is how many bytes of an answer's body are read; a longer body is ClassBodyLimit. 0 means
	// DefaultBodyLimit.
	BodyLimit int64 `json:"body_limit,omitempty"`
	// Expect lists the expected statuses as numbers and ranges, "200,204,300-399", or for gRPC as names, "OK,NOT_FOUND".
	// "" means DefaultExpect, or DefaultExpectGRPC.
	Expect string `json:"expect,omitempty"`
	// Checks are conditions that an answer must meet to count as success, as check.Parse reads them.
	Checks []string `json:"checks,omitempty"`
	// Reply says where the reply of tcp or udp ends: "any", "bytes N", "until TEXT" or "matches /REGEX/"; or which message
	// of ws it is: "any", "messages N" or "matches /REGEX/". "" or "none" = none is expected, and the request ends when its
	// body is sent.
	//
	// For methods of gRPC that take a stream it says the same of messages; "" = "any", or "none" if the method answers only
	// once. "end" = each request is a stream with one message, and its reply is all up to the end.
	Reply string `json:"reply,omitempty"`
	// Stream says what the events of an answer are that comes in pieces, over HTTP, gRPC or WebSocket, and which goals an
	// answer has to meet to count as good. Its Timeout is that of each event.
	Stream events.Options `json:"stream,omitzero"`
	// Binary sends the body as a binary message of ws. One that is not UTF-8 is binary in any case; others are texts.
	Binary bool `json:"binary,omitempty"`
	// Descriptors are an encoded google.protobuf.FileDescriptorSet with the methods that are called over gRPC, and all that
	// their messages need. In JSON it is base64.
	Descriptors []byte `json:"descriptors,omitempty"`
	// Trace sends a trace context with each request, in the header traceparent; see package trace. Local.Trace has the key.
	Trace bool `json:"trace,omitempty"`
	// TraceSampled is the share of traces that the header asks the server to record: their sampled flag is set.
	TraceSampled trace.Share `json:"trace_sampled,omitempty"`
	// Flows are a mix of requests, instead of URL, Method, Headers, Body, Reply, Expect and Checks. All else here counts for
	// each of them.
	Flows []Flow `json:"flows,omitempty"`
	// Pick says in which order flows come: PickCycle or PickRandom; "" means PickCycle.
	Pick string `json:"pick,omitempty"`
	// RateOf says what a slot is permission for: RateOfFlows or RateOfRequests; "" means RateOfFlows.
	RateOf string `json:"rate_of,omitempty"`

	// Cookies gives each flow a cookie jar of its own: cookies of an answer go into the later requests of the flow, and
	// into those of redirects. Without Flows it is an error.
	Cookies bool `json:"cookies,omitempty"`

	// Schemes are those of URLs that are not ours, with what a program must know of them that does not have them: see Using
	// and Bind.
	Schemes []Scheme `json:"schemes,omitempty"`
	// Settings are what only such schemes know.
	Settings map[string]string `json:"settings,omitempty"`

	mix     *Mix         // of the workload that this spec is one step of; nil = it is none
	taken   []string     // names of what its flow may have taken when this step has ended: see Flow.Known
	takes   []Take       // of these, what this step takes
	earlier []string     // what it may have taken before
	schema  *grpc.Schema // of Descriptors, once they were read
	masked  bool         // cells of columns whose names suggest a secret are stand-ins: see Examples
}

// Header is one header of a request.
type Header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Local holds settings of this machine, which are never stored or shared. The zero value is useful.
type Local struct {
	// Cert and Key are the paths of a client certificate and its key, in PEM.
	Cert, Key string
	// MaxConnections bounds the open sockets, in use or idle; 0 means no limit. If all are busy, Do waits for one.
	MaxConnections int
	// Addresses are local IP addresses to connect from, in turn; none means that the system chooses. Each has about
	// 28,000 ports for one server.
	Addresses []string
	// AllowHost decides whether a redirect may lead to a host other than the URL's. It is called with the host:port of
	// the URL, and with the address that the connection really goes to if that differs. nil allows none. It must be
	// safe for concurrent use.
	AllowHost func(hostport string) bool
	// Worker fills ${worker}.
	Worker string
	// Trace is the key of the trace ids, as trace.Key returns it; "" = New takes one that nobody knows.
	Trace string
	// Tables has the rows of all files in Spec.Data.
	Tables Tables
	// Credential is the value of the Authorization header for Spec.Auth, or the keys that sign requests.
	Credential *Credential
	// Halted is called just before the first byte of a request is written, because connecting may have taken long. If
	// it returns true, the request is not sent and ends as ClassCanceled. nil means never. It must be safe for
	// concurrent use.
	Halted func() bool
}

// Validate checks what can be checked without opening a file.
func (l Local) Validate() error {
	if (l.Cert == "") != (l.Key == "") {
		return errors.New("client certificate: give both the certificate and the key")
	}
	if l.MaxConnections < 0 {
		return errors.New("max connections: must not be negative; 0 means no limit")
	}
	// It is not escaped where it is filled in.
	if l.Worker != "" && (!IsToken(l.Worker) || strings.ContainsAny(l.Worker, "!#$%&'*+^`|~")) {
		return errors.New("worker: may only hold letters, digits, dots, dashes and underscores")
	}
	for _, a := range l.Addresses {
		if net.ParseIP(a) == nil {
			return errors.New("local address: " + a + " is not an IP address")
		}
	}
	return nil
}

// Hosts returns where connections go: host:port with the port filled in, or "unix:/path". It returns nothing for a
// target that does not connect, or an invalid URL. With ConnectTo it is the address after the change, so a check of
// allowed hosts must look at the URLs' hosts too. Redirects are bounded by Local.AllowHost.
func (s Spec) Hosts() (all []string) {
	for _, one := range s.Steps() {
		for _, host := range one.hosts() {
			if !slices.Contains(all, host) {
				all = append(all, host)
			}
		}
	}
	return all
}

// hosts is Hosts of one step.
func (s Spec) hosts() []string {
	k, u, err := s.ParseURL()
	if err != nil || k.Port == "" {
		return nil
	}
	if s.UnixSocket != "" {
		return []string{"unix:" + s.UnixSocket}
	}
	routes, err := ParseRoutes(s.ConnectTo)
	if err != nil {
		return nil
	}
	return []string{routes.Apply(u.Hostname(), cmp.Or(u.Port(), k.Port))}
}

// ParseURL parses the URL and looks up its scheme. Its errors do not quote the URL, which may contain a password.
func (s Spec) ParseURL() (Scheme, *url.URL, error) {
	if s.URL == "" {
		return Scheme{}, nil, errors.New("url: is missing; write http://host[:port]/path")
	}
	text, err := s.Parser(nil)(s.URL, SaltURL)
	if err != nil {
		return Scheme{}, nil, fmt.Errorf("url: %w", err)
	}
	u, err := url.Parse(strings.Join(text.Literals(), URLStandIn))
	if err != nil || u.Scheme == "" {
		return Scheme{}, nil, errors.New("url: is not a URL; write http://host[:port]/path")
	}
	k, ok := s.lookup(u.Scheme)
	if !ok {
		name := "scheme " + u.Scheme
		if strings.Contains(u.Opaque, "@") {
			name = "this scheme" // it may be a user, as in user:password@host
		}
		return Scheme{}, nil, errors.New("url: there is no target for " + name + "; there is " + listed(Schemes(s.Schemes...)) + ", as in http://host[:port]/path; one of a program of yours needs --scheme NAME=VERSION")
	}
	return k, u, nil
}

// EffectiveMethod is the method in effect.
func (s Spec) EffectiveMethod() string {
	if IsGRPC(s.URL) {
		return http.MethodPost
	}
	if s.Method == "" && len(s.Body) > 0 {
		return http.MethodPost
	}
	return cmp.Or(s.Method, http.MethodGet)
}
