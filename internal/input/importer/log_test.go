package importer

import (
	"fmt"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/targets"
)

// line is a line of a log.
func line(request string) string {
	return fmt.Sprintf("192.0.2.1 - - [31/Jan/2026:12:00:00 +0000] %q 200 5\n", request)
}

// TestPatterns: requests that differ in their ids are one flow.
func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want string // of the URL of both; "" = two patterns
	}{
		{"/items/7", "/items/19", "/items/${random 7 19}"},
		{"/items/19/tags/3", "/items/19/tags/1", "/items/19/tags/${random 1 3}"},
		{"/a?x=1", "/a?x=2", "/a?x=1"},
		{"/a/007", "/a/12345678901234567890", "/a/007"},
		{"/a/0f8fad5b-d9cb-469f-a165-70867728950e/b", "/a/7C9E6679-7425-40DE-944B-E07FC1F90AE7/b", "/a/0f8fad5b-d9cb-469f-a165-70867728950e/b"},
		{"/a/5f2b8c0d9e1a", "/a/0123456789abcdef", "/a/5f2b8c0d9e1a"},
		{"/a/facade", "/a/decade", ""},
		{"/v1/x", "/v2/x", ""},
		{"/items/7", "/items/7/", ""},
		{"/items/7", "/items/x", ""},
		{"/items/#", "/items/7", ""},
	} {
		text, err := Workload(strings.NewReader(line("GET "+c.a+" HTTP/1.1")+line("GET "+c.b+" HTTP/1.1")), Options{Name: "t", Base: "http://h"})
		if err != nil {
			t.Errorf("%s, %s: %v", c.a, c.b, err)
			continue
		}
		flows := parsed(t, string(text))
		if (len(flows) == 1) != (c.want != "") || c.want != "" && flows[0].Steps[0].URL != "http://h"+c.want {
			t.Errorf("%s, %s: %+v", c.a, c.b, flows)
		}
	}
}

// TestUnusable: lines without a request that can be sent again are counted apart.
func TestUnusable(t *testing.T) {
	good := line("GET / HTTP/1.1")
	for _, request := range []string{"-", "", "GET", "GET /", "get / HTTP/1.1", "GET / HTTP/1.1 x", "CONNECT a:1 HTTP/1.1", "OPTIONS * HTTP/1.1", "GET http://a/ HTTP/1.1", `GET /\x22 HTTP/1.1`, "GET /%zz HTTP/1.1"} {
		log := good + `192.0.2.1 - - [31/Jan/2026:12:00:00 +0000] "` + request + `" 200 5` + "\n"
		text, err := Workload(strings.NewReader(log), Options{Name: "t", Base: "http://h"})
		usable := strings.Contains(string(text), "In the mix: 1 pattern with 100.00 %")
		if err != nil || usable != (request == "GET /") || !usable && !strings.Contains(string(text), "Left out: 1 line without a request that can be sent, 50.00 %") {
			t.Errorf("%q: %v\n%s", request, err, text)
		}
	}
}

// TestMostFrequent: 30 flows have the weights of their counts, and a comment has the rest.
func TestMostFrequent(t *testing.T) {
	var log strings.Builder
	for i := range 40 {
		log.WriteString(strings.Repeat(line(fmt.Sprintf("GET /page-%02d HTTP/1.1", i)), 40-i))
	}
	text, err := Workload(strings.NewReader(log.String()), Options{Name: "t", Base: "http://h"})
	if err != nil {
		t.Fatal(err)
	}
	flows := parsed(t, string(text))
	if len(flows) != 30 || flows[0].Weight != 40 || flows[29].Weight != 11 || flows[29].Steps[0].URL != "http://h/page-29" {
		t.Errorf("%+v", flows)
	}
	for _, want := range []string{"820 requests", "30 patterns with 93.29 %", "Left out: 10 patterns that are less frequent, with 6.70 %"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("does not say %q:\n%s", want, text[:800])
		}
	}
}

// TestWeights: counts of any size become weights that a run accepts, and keep their shares.
func TestWeights(t *testing.T) {
	for _, counts := range [][]int64{{5, 1}, {3_000_000, 1_500_000, 1}, {40_000, 40_000, 40_000, 40_000, 40_000, 40_000, 40_000, 40_000, 40_000, 40_000, 40_000, 20_000}} {
		var all []*pattern
		for _, n := range counts {
			all = append(all, &pattern{count: n})
		}
		var sum int64
		for i, w := range weigh(all) {
			sum += w
			if w < 1 || w > targets.MaxWeight || i < 2 && float64(w)/float64(weigh(all)[0]) != float64(counts[i])/float64(counts[0]) {
				t.Errorf("%v: weight %d of %d", counts, w, counts[i])
			}
		}
		if sum > 100_000 {
			t.Errorf("%v: sum %d", counts, sum)
		}
	}
}

// TestManyPatterns: a log without end of different paths does not fill the memory, and nothing is lost from the sums.
func TestManyPatterns(t *testing.T) {
	var log strings.Builder
	for i := range mostPatterns + 500 {
		log.WriteString(line(fmt.Sprintf("GET /x%d HTTP/1.1", i)))
	}
	text, err := Workload(strings.NewReader(log.String()), Options{Name: "t", Base: "http://h"})
	if err != nil || !strings.Contains(string(text), "19970 patterns or more that are less frequent, with 99.85 %") {
		t.Errorf("%v\n%.800s", err, text)
	}
}
