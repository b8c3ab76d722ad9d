package svg

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/proof/svgtest"
)

// TestPercentiles: the picture is XML, names each kind once, and all points are in the frame.
func TestPercentiles(t *testing.T) {
	flat, steep := []PercentilePoint{{0, 1e6}, {0.5, 1e6}, {0.9, 1e6}}, []PercentilePoint{{0, 1e3}, {0.99, 1e9}, {0.999999, 3.6e12}}
	for _, c := range []struct {
		curves []PercentileCurve
		says   []string
	}{
		{[]PercentileCurve{{"one", 0, flat}, {"one", 0, flat}, {"A & B", 1, flat}}, []string{"one", "A & B", "p0", "p50", "p99", "1ms"}},
		{[]PercentileCurve{{"one", 0, flat}, {"two", 1, steep}}, []string{"two", "p99.9999", "1µs", "1s"}},
		{[]PercentileCurve{{"one", 0, nil}}, []string{"one", "p90", "10ms"}},
		{nil, []string{"p90", "10ms"}},
		{[]PercentileCurve{{"/a/long/path/" + strings.Repeat("x", 200) + "/end", 0, flat}}, []string{"p50"}},
	} {
		for _, wide := range []int{380, 960} {
			picture := Percentiles("A & B", wide, c.curves)
			said := svgtest.Texts(t, picture)
			for _, want := range append(c.says, "A & B") {
				if !said[want] {
					t.Errorf("%q is missing in\n%s", want, picture)
				}
			}
			if strings.Contains(picture, "style") {
				t.Errorf("a style in\n%s", picture)
			}
			var width, height float64
			if _, err := fmt.Sscanf(picture[strings.Index(picture, "viewBox"):], `viewBox="0 0 %f %f"`, &width, &height); err != nil {
				t.Fatal(err)
			}
			for _, point := range regexp.MustCompile(`(-?[\d.]+),(-?[\d.]+) `).FindAllStringSubmatch(picture, -1) {
				var x, y float64
				if _, err := fmt.Sscan(point[1], &x); err != nil {
					t.Fatal(err)
				}
				if _, err := fmt.Sscan(point[2], &y); err != nil {
					t.Fatal(err)
				}
				if x < 56 || x > width-15 || y < 0 || y > height-28 {
					t.Errorf("the point %s is outside of %v × %v", point[0], width, height)
				}
			}
		}
	}
}
