//go:build linux

package main

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/lab/plot"
)

func TestRender(t *testing.T) {
	s := section{steal: []float64{0.01, 0.123}}
	s.heading("%d connections", 64)
	s.table([]string{"", "requests/s"}, [][]string{{"wrk", spannedThousands(values{1000, 123456, 99999})}, {"ab", spanned(values{2.5}, "%.1f")},
		{"none", spannedThousands(nil)}, {"nobody", spanned(nil, "%.1f")}})
	s.atLeast("faster", 1.5, 1.2, "%.2f")
	s.atMost("CPU", 0.9, 0.85, "%.2f")
	s.atMost("lateness", math.NaN(), 90, "%.0f")
	s.fail("k6", errors.New("no\nmemory"))
	s.command("wrk", "wrk -t1")
	s.command("wrk", "wrk -t2")
	const want = `**64 connections**

|  | requests/s |
| --- | --: |
| wrk | 99,999 (1,000–123,456) |
| ab | 2.5 |
| none |  |
| nobody |  |

| goal | limit | measured | met |
| --- | --: | --: | --: |
| faster | ≥ 1.20 | 1.50 | yes |
| CPU | ≤ 0.85 | 0.90 | no |
| lateness | ≤ 90 |  | not measured |

Not measured: 64 connections, k6: no memory.

Taken by other machines of the host, % of the processor time of each round: 1.0, 12.3.

Commands, of each the first:

- wrk: ` + "`wrk -t1`" + `

`
	if got := s.render(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestPublish(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "page.md")
	const page = "# Page\n<!-- bench:a -->\nold\n<!-- /bench:a -->\nby hand\n<!-- bench:b -->\n<!-- /bench:b -->\n"
	if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &section{name: "a"}
	s.plot("p.svg", plot.Bars("Title", []plot.Bar{{Name: "a < b", Value: 2000, Low: 1000, High: 3000}}), "a plot")
	for range 2 { // the second time changes nothing
		if err := publish(file, s, s.render()); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Replace(page, "old\n", "\n![a plot](page/p.svg)\n\n", 1)
	want = strings.Replace(want, "page/p.svg", "benchmarks/p.svg", 1) // the name of the real page
	if string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if _, err := os.Stat(filepath.Join(dir, "page", "p.svg")); err != nil {
		t.Error(err)
	}
	if err := publish(file, &section{name: "c"}, ""); err == nil {
		t.Error("a section without a place was written")
	}
}

// TestContend checks that turns alternate, and that a contender that fails takes no more turns but is still mentioned.
func TestContend(t *testing.T) {
	var order strings.Builder
	turn := func(name string, fails int) contender[int] {
		n := 0
		return contender[int]{name, func(context.Context) (int, error) {
			order.WriteString(name)
			if n++; n == fails {
				return 0, errors.New("broken")
			}
			return n, nil
		}}
	}
	s := &section{name: "test"}
	got, err := contend(t.Context(), &bench{}, s, 3, []contender[int]{turn("A", 0), turn("B", 2), turn("C", 0)})
	if err != nil {
		t.Fatal(err)
	}
	if order.String() != "ABCABCAC" {
		t.Errorf("turns were %s", order.String())
	}
	if len(got) != 2 || len(got.take("A")) != 3 || len(got.take("C")) != 3 || got.take("B") != nil {
		t.Errorf("got %v", got)
	}
	if len(s.steal) != 3 || !strings.Contains(s.render(), "Not measured: B: broken.") {
		t.Errorf("the section says\n%s", s.render())
	}
}
