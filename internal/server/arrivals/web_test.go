package arrivals

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/server/site"
)

// sited adds a site of routes to options.
func sited(t *testing.T, o Options, routes ...site.Route) Options {
	t.Helper()
	s, err := site.New(200, routes)
	if err != nil {
		t.Fatal(err)
	}
	o.Site = s
	return o
}

// collecting collects the arrivals of a server in the background. The function that it returns ends that.
func collecting(s *Server) (end func() *Summary) {
	ctx, cancel := context.WithCancel(context.Background())
	collected := make(chan *Summary, 1)
	go func() { collected <- s.Collect(ctx, io.Discard) }()
	return func() *Summary {
		cancel()
		return <-collected
	}
}

// TestSiteCountsEachRequest: routes add up to the whole server, in all counts, while connections come and go.
func TestSiteCountsEachRequest(t *testing.T) {
	s := start(t, sited(t, Options{}, site.Route{Pattern: "/a", Status: 201}, site.Route{Pattern: "/b", Status: 404}, site.Route{Pattern: "/never"}))
	end := collecting(s)
	want := map[string]int{"/a": 201, "/b": 404, "/c": 200}
	const conns, each = 20, 30
	var wg sync.WaitGroup
	for i := range conns {
		wg.Go(func() {
			for j := range each {
				path := []string{"/a", "/b", "/c"}[(i+j)%3]
				c, err := net.Dial("tcp", s.Addr()) // lanes pass from one connection to the next
				if err != nil {
					t.Error(err)
					return
				}
				for range 2 {
					if status, err := get(c, path); err != nil || status != want[path] {
						t.Errorf("%s: %d, %v", path, status, err)
					}
				}
				c.Close()
			}
		})
	}
	wg.Wait()
	if paths := s.Paths(); paths["/a"] != paths["/b"] || paths["/b"] != paths["/c"] || paths["/c"] != 2*conns*each/3 {
		t.Errorf("%v", paths)
	}
	sum := end()
	if sum.Total != 2*conns*each || s.Count() != sum.Total || sum.Connections != conns*each || len(sum.Routes) != 4 {
		t.Fatalf("%+v", sum)
	}
	perSecond := make([]int64, len(sum.PerSecond))
	for i, r := range sum.Routes {
		name, status := []string{"/a", "/b", "/never", site.Other}[i], []int{201, 404, 0, 200}[i]
		requests := int64(2 * conns * each / 3)
		if name == "/never" {
			requests = 0
		}
		if r.Route != name || r.Requests != requests || len(r.PerSecond) != len(sum.PerSecond) {
			t.Errorf("%+v", r)
		}
		if want := []site.Status{{Status: status, Answers: requests}}; requests > 0 && (!slices.Equal(r.Statuses, want) || r.Latency.Min == 0) {
			t.Errorf("%+v", r)
		}
		for second, n := range r.PerSecond {
			perSecond[second] += n
		}
	}
	for i, n := range perSecond {
		if n != sum.PerSecond[i].Requests {
			t.Errorf("second %d: routes have %d, the server %d", i, n, sum.PerSecond[i].Requests)
		}
	}
}

// TestSiteHoldsBackOneRoute: a stall holds back the answers of its route until it ends, and no others.
func TestSiteHoldsBackOneRoute(t *testing.T) {
	const length = time.Second
	s := start(t, sited(t, Options{}, site.Route{Pattern: "/brief", Stalls: []site.Stall{{Length: length}}},
		site.Route{Pattern: "/stalled", Stalls: []site.Stall{{Length: time.Hour}}}, site.Route{Pattern: "/free"}))
	took := func(c net.Conn, path string) time.Duration {
		t.Helper()
		began := time.Now()
		if status, err := get(c, path); err != nil || status != 200 {
			t.Fatalf("%s: %d, %v", path, status, err)
		}
		return time.Since(began)
	}
	brief, stalled, free := dial(t, s), dial(t, s), dial(t, s)
	if held := took(brief, "/brief"); held < length {
		t.Errorf("the stall took %v", held)
	}
	await.True(t, "an answer at once, after the stall", func() bool { return took(brief, "/brief") < length/2 })
	before := s.Count()
	answered := make(chan error, 1)
	go func() {
		_, err := get(stalled, "/stalled")
		answered <- err
	}()
	await.True(t, "a request that is held back", func() bool { return s.Count() > before })
	for i := range 10 {
		took(free, []string{"/free", "/other"}[i%2])
	}
	if len(answered) > 0 {
		t.Error("the stalled route was answered")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := await.Receive(t, "the end of the connection", answered); err == nil {
		t.Error("the stalled route was answered at the end")
	}
}

// TestSiteStallsAsAWhole: a stall of the server holds back routes too, also those that wait when it begins.
func TestSiteStallsAsAWhole(t *testing.T) {
	const length = 400 * time.Millisecond
	s := start(t, sited(t, Options{}, site.Route{Pattern: "/slow", Latency: length / 4}))
	answered := make(chan error, 1)
	c := dial(t, s)
	go func() {
		_, err := get(c, "/slow")
		answered <- err
	}()
	<-s.FirstArrival()
	began := time.Now()
	s.Stall(length)
	if err := <-answered; err != nil || time.Since(began) < length {
		t.Errorf("answered after %v, %v", time.Since(began), err)
	}
}

// TestSiteSettingsAdd: what is true of all answers is true of those of routes.
func TestSiteSettingsAdd(t *testing.T) {
	s := start(t, sited(t, Options{Latency: 20 * time.Millisecond, ErrorShare: 0.25, ErrorStatus: 503},
		site.Route{Pattern: "/slow", Latency: 30 * time.Millisecond, Jitter: time.Millisecond, Status: 201}))
	end, c := collecting(s), dial(t, s)
	statuses := map[int]int{}
	for range 8 {
		began := time.Now()
		status, err := get(c, "/slow")
		if took := time.Since(began); err != nil || took < 20*time.Millisecond || status == 201 && took < 50*time.Millisecond {
			t.Errorf("%d after %v, %v", status, took, err)
		}
		statuses[status]++
	}
	sum := end()
	if r := sum.Routes[0]; statuses[503] != 2 || statuses[201] != 6 || sum.ErrorsAnswered != 2 || r.Latency.P50 < 49_900_000 || r.Latency.Min < 19_900_000 {
		t.Errorf("%v, %+v", statuses, sum)
	}
}

// TestSiteQueue: a capacity is that of the whole server, and a full queue refuses at once, whatever the route.
func TestSiteQueue(t *testing.T) {
	s := start(t, sited(t, Options{Capacity: 1, ServiceTime: time.Hour}, site.Route{Pattern: "/a", Latency: time.Hour}))
	s.queue.longest = 0
	answered := make(chan error, 2)
	for range 2 { // whichever comes second
		c := dial(t, s)
		go func() {
			status, err := get(c, "/a")
			if err == nil && status != 503 {
				err = fmt.Errorf("status %d", status)
			}
			answered <- err
		}()
	}
	if err := <-answered; err != nil {
		t.Error(err)
	}
}

// TestSiteLatencyIsThatOfTheServer: it begins with the first byte of a request, and leaves out the time before.
func TestSiteLatencyIsThatOfTheServer(t *testing.T) {
	const long = 400 * time.Millisecond
	s := start(t, sited(t, Options{}, site.Route{Pattern: "/slowly"}, site.Route{Pattern: "/fast"}))
	end, c := collecting(s), dial(t, s)
	var trip time.Duration // the longest that the client saw, from before a request to its answer
	for range 2 {
		time.Sleep(long) // a connection without a request, and between two
		began := time.Now()
		if _, err := get(c, "/fast"); err != nil {
			t.Fatal(err)
		}
		trip = max(trip, time.Since(began))
	}
	if _, err := io.WriteString(c, "POST /slowly HTTP/1.1\r\nHost: a\r\n"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(long)
	if _, err := io.WriteString(c, "Content-Length: 0\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	sum := end()
	if slowly, fast := sum.Routes[0].Latency, sum.Routes[1].Latency; slowly.Min < int64(long*99/100) || fast.Max > int64(trip*101/100) { // it is kept with three digits
		t.Errorf("slowly %+v, fast %+v, of which the client saw %v", slowly, fast, trip)
	}
}

// TestSiteReadsAllOfHTTP: what the plain server leaves out.
func TestSiteReadsAllOfHTTP(t *testing.T) {
	body := func(r *http.Request, body []byte) site.Reply { return site.Reply{Status: 200, Body: body} }
	s := start(t, sited(t, Options{}, site.Route{Pattern: "/echo", Answer: body}, site.Route{Pattern: "/none", Status: 204}))
	long := strings.Repeat("x", site.MostBody+5)
	for _, c := range []struct{ sent, want string }{
		{"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", "abc"},
		{"POST /echo HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("y", 20_000) + "\r\nContent-Length: 3\r\n\r\nabc", "abc"},
		{fmt.Sprintf("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s", len(long), long), long[:site.MostBody]},
		{"GET /none HTTP/1.1\r\nHost: a\r\n\r\n", ""},
		{"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "ok"},
		{"GET /x HTTP/1.0\r\n\r\n", "ok"},
		{"GET //a/../b HTTP/1.1\r\nHost: a\r\n\r\nGET /echo HTTP/1.1\r\nHost: a\r\n\r\n", "ok"}, // two at once
	} {
		before := s.Count()
		conn := dial(t, s)
		if _, err := io.WriteString(conn, c.sent); err != nil {
			t.Fatal(err)
		}
		br := bufio.NewReader(conn)
		requests := int64(strings.Count(c.sent, "HTTP/1."))
		for i := range requests {
			resp, err := http.ReadResponse(br, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if i == 0 && string(got) != c.want || err != nil || resp.TransferEncoding != nil {
				t.Errorf("%.60q: %.60q, %v", c.sent, got, err)
			}
		}
		if n := s.Count() - before; n != requests {
			t.Errorf("%.60q: counted %d", c.sent, n)
		}
	}
	head, err := http.Head(s.URL() + "/x")
	if err != nil || head.ContentLength != 2 {
		t.Errorf("HEAD: %+v, %v", head, err)
	}
	head.Body.Close()
}

// TestSiteCountsWholeRequests: a connection that ends within a request leaves no trace.
func TestSiteCountsWholeRequests(t *testing.T) {
	o := sited(t, Options{}, site.Route{Pattern: "/a"})
	unique, err := site.ParseUnique("path")
	if err != nil {
		t.Fatal(err)
	}
	o.Unique = []*site.Unique{unique}
	s := start(t, o)
	end := collecting(s)
	long := fmt.Sprintf("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s", site.MostBody+9, strings.Repeat("x", site.MostBody+8))
	for _, part := range []string{"", long, "GET /a HTTP/1.1\r\n", "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabc", "hello\r\n\r\n"} {
		c := dial(t, s)
		if _, err := io.WriteString(c, part); err != nil {
			t.Fatal(err)
		}
		if err := c.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, c); err != nil { // until the server has hung up
			t.Logf("%.60q: %v", part, err)
		}
	}
	if _, err := get(dial(t, s), "/a"); err != nil {
		t.Fatal(err)
	}
	if sum := end(); sum.Total != 1 || sum.Routes[0].Requests != 1 || sum.Unique[0] != (site.UniqueCount{Of: "path", Values: 1}) {
		t.Errorf("%+v", sum)
	}
}

// TestSiteClose: the end does not wait for answers that are held back, and counts their requests.
func TestSiteClose(t *testing.T) {
	for name, o := range map[string]Options{
		"latency": sited(t, Options{}, site.Route{Pattern: "/", Latency: time.Hour}),
		"stall":   sited(t, Options{}, site.Route{Pattern: "/", Stalls: []site.Stall{{Length: time.Hour}}}),
		"all":     sited(t, Options{Latency: time.Hour}),
	} {
		s := start(t, o)
		c := dial(t, s)
		if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		dial(t, s) // a connection without a request
		<-s.FirstArrival()
		closed := make(chan error, 1)
		go func() { closed <- s.Close() }()
		if err := await.Receive(t, name+": the end of Close", closed); err != nil || s.Count() != 1 || len(s.Take(s.Now())) != 1 {
			t.Errorf("%s: %v, counted %d", name, err, s.Count())
		}
		if n, err := c.Read(make([]byte, 100)); err == nil {
			t.Errorf("%s: answered %d bytes", name, n)
		}
	}
}

// TestSiteOverTLSAndUnix: a site has the addresses of the plain server.
func TestSiteOverTLSAndUnix(t *testing.T) {
	web := httptest.NewTLSServer(nil)
	defer web.Close()
	s := start(t, sited(t, Options{TLS: &tls.Config{Certificates: web.TLS.Certificates}}, site.Route{Pattern: "/a", Status: 201}))
	client := web.Client()
	defer client.CloseIdleConnections()
	for range 3 {
		resp, err := client.Get(s.URL() + "/a")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if resp.StatusCode != 201 {
			t.Errorf("%d", resp.StatusCode)
		}
	}
	if s.Count() != 3 || s.Connections() != 1 {
		t.Errorf("%d requests in %d connections", s.Count(), s.Connections())
	}
	path := filepath.Join(t.TempDir(), "s")
	u := start(t, sited(t, Options{Addr: "unix:" + path}, site.Route{Pattern: "/a", Status: 201}))
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if status, err := get(c, "/a"); status != 201 || err != nil || u.Count() != 1 {
		t.Errorf("%d, %v", status, err)
	}
}

// TestRoutesInText: each second shows the routes that had requests, and the summary has a row for each.
func TestRoutesInText(t *testing.T) {
	const s = int64(time.Second)
	all := &tallies{all: NewTally(), names: []string{"GET /a", "other"}, routes: []*Tally{NewTally(), NewTally()}}
	all.add([][]int64{nil, {10 * s}})
	all.add([][]int64{{10*s + 1, 12*s + 5}, {10*s + 2}})
	var out strings.Builder
	p := secondPrinter{w: &out, routes: all.during}
	p.print(all.all, 14*s)
	want := "1970-01-01T00:00:10.000Z  3 in this second, 3 in all: GET /a 1, other 2\n1970-01-01T00:00:12.000Z  1 in this second, 4 in all: GET /a 1\n"
	if out.String() != want {
		t.Errorf("%q", out.String())
	}
	out.Reset()
	sum := Summary{
		Unique: []site.UniqueCount{{Of: "path", Values: 3}, {Of: "json a", Values: 3, Twice: 2, Without: 7, NotCounted: 4}},
		Routes: []RouteSummary{{Route: "GET /a", Requests: 12, MeanRate: 2.5, Statuses: []site.Status{{Status: 200, Answers: 9}, {Status: 401, Answers: 3}}}, {Route: "other"}},
	}
	sum.Routes[0].Latency.P50, sum.Routes[0].Latency.P90, sum.Routes[0].Latency.P99, sum.Routes[0].Latency.Max = 1000, 2000, 3_000_000, 4_000_000_000
	if err := sum.WriteText(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\nunique       path: values 3, twice 0\nunique       json a: values 3, twice 2; requests without 7; stopped, for it keeps no more values: requests not counted 4\n",
		"\nROUTE   REQUESTS  PER SECOND  P50     P90     P99     MAX    STATUS: ANSWERS\n",
		"\nGET /a  12        2.5         1.00µs  2.00µs  3.00ms  4.00s  200: 9, 401: 3\nother   0         0           -       -       -       -      -\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s\ndoes not say %q", out.String(), want)
		}
	}
}

// TestTalliesHaveTheSameSeconds: for any arrivals, the seconds of the routes add up, also after some were dropped.
func TestTalliesHaveTheSameSeconds(t *testing.T) {
	const s = int64(time.Second)
	all := &tallies{all: NewTally(), names: []string{"a", "b"}, routes: []*Tally{NewTally(), NewTally()}}
	far := 2*KeptSeconds*s + 7
	for _, step := range [][][]int64{{{5, s + 4}, {s + 6}}, {nil, {3 * s, far}}, {{far + 1, far + s}, nil}, {{far + 50*s}, {far + 51*s}}} {
		all.add(step)
		from, counts := all.all.PerSecond()
		for i, n := range counts {
			at := from + int64(i)*s
			if sum := all.routes[0].during(at) + all.routes[1].during(at); sum != n {
				t.Fatalf("%v: the second at %d has %d, the routes %d", step, at, n, sum)
			}
		}
	}
}
