// Package promql asks a Prometheus for the value that a query has now.
//
//	server := promql.New("http://prometheus:9090", os.Getenv(promql.TokenVariable))
//	cpu, err := server.Value(ctx, "max(rate(process_cpu_seconds_total[30s]))")
//
// An error means that the query has no value, whatever the reason. It is one line that says what to do. What the server sends is
// bounded: 4 s, and 1 MiB. Redirects are not followed, so nothing goes to another host.
package promql

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/loadctl/loadctl/report/record"
)

// TokenVariable is the environment variable of a worker with a bearer token for the Prometheus. A run keeps no secrets.
const TokenVariable = "LOADCTL_PROMETHEUS_TOKEN"

// The bounds of an answer.
const (
	Timeout  = 4 * time.Second
	maxBytes = 1 << 20
)

// A Server is a Prometheus. It is safe for concurrent use.
type Server struct {
	url, token string
	http       *http.Client
}

// New returns the Prometheus with this URL, as the flag --prometheus takes it. token is sent with each query; "" = none.
func New(url, token string) *Server {
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: Timeout}).DialContext, TLSHandshakeTimeout: Timeout,
		MaxIdleConnsPerHost: record.MaxQueries, IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: 64 << 10, ForceAttemptHTTP2: true,
	}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Server{strings.TrimRight(url, "/"), token, &http.Client{Transport: transport, CheckRedirect: stay}}
}

// Close closes connections that no query uses.
func (s *Server) Close() { s.http.CloseIdleConnections() }

// Value returns the value that a query has now: that of a scalar, or of a vector with one sample.
func (s *Server) Value(ctx context.Context, promql string) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/api/v1/query?"+url.Values{"query": {promql}, "timeout": {"4s"}}.Encode(), http.NoBody)
	if err != nil {
		return 0, fmt.Errorf("%w; check --prometheus", err)
	}
	if s.token != "" {
		request.Header.Set("Authorization", "Bearer "+s.token)
	}
	answer, err := s.http.Do(request)
	if err != nil {
		return 0, unreached(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxBytes+1))
	switch {
	case err != nil:
		return 0, unreached(err)
	case len(body) > maxBytes:
		return 0, errors.New("the answer has more than 1 MiB; let the query return one value, as max(…) or sum(…) do")
	}
	return value(answer.StatusCode, body)
}

// unreached says why there is no answer, without the query, which is long.
func unreached(err error) error {
	if wrapped, is := errors.AsType[*url.Error](err); is {
		err = wrapped.Err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("no answer within %v; check --prometheus, or make the query a recording rule: %w", Timeout, err)
	}
	return fmt.Errorf("%w; check that this worker reaches the Prometheus", err)
}

// A response is an answer of the API.
type response struct {
	Status string
	Error  string
	Data   struct {
		ResultType string
		Result     json.RawMessage
	}
}

// A sample is a part of a vector.
type sample struct{ Value point }

// A point is a time and the text of a value.
type point [2]any

// value returns the value in an answer.
func value(status int, body []byte) (float64, error) {
	var r response
	err := json.Unmarshal(body, &r)
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return 0, fmt.Errorf("status %d; set %s where the workers run", status, TokenVariable)
	case err == nil && r.Status == "error":
		return 0, fmt.Errorf("the Prometheus refuses the query: %.200q; correct --query", r.Error)
	case status != http.StatusOK:
		return 0, fmt.Errorf("status %d; --prometheus must be the URL of a Prometheus, without /api/v1", status)
	case err != nil || r.Status != "success":
		return 0, errors.New("the answer is not that of a Prometheus; check --prometheus")
	}
	switch r.Data.ResultType {
	case "scalar":
		var p point
		if err := json.Unmarshal(r.Data.Result, &p); err != nil {
			return 0, errors.New("the answer is not that of a Prometheus; check --prometheus")
		}
		return p.number()
	case "vector":
		var all []sample
		if err := json.Unmarshal(r.Data.Result, &all); err != nil {
			return 0, errors.New("the answer is not that of a Prometheus; check --prometheus")
		}
		if len(all) == 0 {
			return 0, errors.New("the query has no value; check its metric and labels, or add `or vector(0)`")
		}
		if len(all) > 1 {
			return 0, fmt.Errorf("the query has %d values; let it return one, as max(…) or sum(…) do", len(all))
		}
		return all[0].Value.number()
	default:
		return 0, fmt.Errorf("the query is a %.20s; let it return one number, as max(…) or rate(…) do", r.Data.ResultType)
	}
}

// number returns the value of a point.
func (p point) number() (float64, error) {
	text, _ := p[1].(string)
	v, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil && !math.IsInf(v, 0):
		return 0, errors.New("the answer is not that of a Prometheus; check --prometheus")
	case math.IsNaN(v) || math.Abs(v) > record.MostValue:
		return 0, fmt.Errorf("the query has the value %.20s; maybe it divides by 0", text)
	}
	return v, nil
}
