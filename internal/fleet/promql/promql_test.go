package promql_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/promql"
)

// answers returns the URL of a server that answers each query.
func answers(t *testing.T, answer http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	return s.URL
}

func vector(values ...string) string {
	var all []string
	for _, v := range values {
		all = append(all, fmt.Sprintf(`{"metric":{},"value":[1435781451.781,%q]}`, v))
	}
	return `{"status":"success","data":{"resultType":"vector","result":[` + strings.Join(all, ",") + `]}}`
}

// TestValue: a query has the value of a scalar, or of the one sample of a vector. All else is an error that says what to do.
func TestValue(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		body   string
		want   float64
		says   string
	}{
		{"vector", 200, vector("0.25"), 0.25, ""},
		{"negative", 200, vector("-1e+09"), -1e9, ""},
		{"scalar", 200, `{"status":"success","data":{"resultType":"scalar","result":[1,"7"]}}`, 7, ""},
		{"none", 200, vector(), 0, "has no value; check its metric"},
		{"many", 200, vector("1", "2", "3"), 0, "has 3 values; let it return one"},
		{"matrix", 200, `{"status":"success","data":{"resultType":"matrix","result":[]}}`, 0, "is a matrix; let it return one number"},
		{"text", 200, `{"status":"success","data":{"resultType":"string","result":[1,"a"]}}`, 0, "is a string"},
		{"NaN", 200, vector("NaN"), 0, "the value NaN; maybe"},
		{"infinite", 200, vector("+Inf"), 0, "the value +Inf"},
		{"huge", 200, vector("-1e301"), 0, "the value -1e301"},
		{"beyond float64", 200, vector("1e999"), 0, "the value 1e999"},
		{"no number", 200, vector("x"), 0, "not that of a Prometheus"},
		{"no text", 200, strings.Replace(vector("1"), `"1"`, `1`, 1), 0, "not that of a Prometheus"},
		{"bad JSON", 200, `{"status":"succ`, 0, "not that of a Prometheus"},
		{"other JSON", 200, `{}`, 0, "not that of a Prometheus"},
		{"bad vector", 200, `{"status":"success","data":{"resultType":"vector","result":{}}}`, 0, "not that of a Prometheus"},
		{"bad scalar", 200, `{"status":"success","data":{"resultType":"scalar","result":"x"}}`, 0, "not that of a Prometheus"},
		{"page", 200, "<html>", 0, "not that of a Prometheus"},
		{"nothing", 204, "", 0, "status 204; --prometheus must be"},
		{"refused", 400, `{"status":"error","errorType":"bad_data","error":"parse\nerror"}`, 0, `refuses the query: "parse\nerror"; correct --query`},
		{"elsewhere", 302, "", 0, "status 302"},
		{"missing", 404, "404 page not found", 0, "status 404"},
		{"locked", 401, "", 0, "set LOADCTL_PROMETHEUS_TOKEN"},
	} {
		url := answers(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://127.0.0.1:1/")
			w.WriteHeader(c.status)
			fmt.Fprint(w, c.body)
		})
		got, err := promql.New(url, "").Value(t.Context(), "up")
		switch {
		case c.says == "" && (err != nil || got != c.want):
			t.Errorf("%s: %v, %v", c.name, got, err)
		case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n")):
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestRequest: the query is asked below the prefix of the URL, with the token.
func TestRequest(t *testing.T) {
	var got string
	url := answers(t, func(w http.ResponseWriter, r *http.Request) {
		got = strings.Join([]string{r.Method, r.URL.Path, r.URL.Query().Get("query"), r.Header.Get("Authorization")}, " ")
		fmt.Fprint(w, vector("1"))
	})
	if _, err := promql.New(url+"/prefix/", "s3cr3t").Value(t.Context(), `rate(a{b="c d"}[1m])&x`); err != nil {
		t.Fatal(err)
	}
	if want := `GET /prefix/api/v1/query rate(a{b="c d"}[1m])&x Bearer s3cr3t`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestEndlessBody: at most 1 MiB of an answer is read.
func TestEndlessBody(t *testing.T) {
	written := make(chan int, 1)
	url := answers(t, func(w http.ResponseWriter, r *http.Request) {
		n := 0
		for r.Context().Err() == nil {
			more, err := w.Write(make([]byte, 1<<16))
			if n += more; err != nil {
				break
			}
		}
		written <- n
	})
	began := time.Now()
	_, err := promql.New(url, "").Value(t.Context(), "up")
	if err == nil || !strings.Contains(err.Error(), "more than 1 MiB; let the query return one value") {
		t.Error(err)
	}
	if n := <-written; n > 32<<20 {
		t.Errorf("%d bytes after %v", n, time.Since(began))
	}
}

// TestUnreached: a server that is away, hangs or ends in the middle of its answer gives no value.
func TestUnreached(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() // it never answers
	away := httptest.NewServer(http.NotFoundHandler())
	away.Close()
	cut := answers(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		fmt.Fprint(w, vector()[:20])
	})
	for url, says := range map[string]string{
		"http://" + l.Addr().String(): "no answer within 4s; check --prometheus",
		away.URL:                      "check that this worker reaches the Prometheus",
		cut:                           "check that this worker reaches the Prometheus",
	} {
		_, err := promql.New(url, "").Value(t.Context(), "a_long_query")
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "a_long_query") {
			t.Errorf("%s: %v", url, err)
		}
	}
}
