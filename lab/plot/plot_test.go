package plot

import (
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/proof/svgtest"
)

// TestPictures: pictures are XML and contain their texts.
func TestPictures(t *testing.T) {
	for name, c := range map[string]struct {
		picture string
		says    []string
	}{
		"bars":         {Bars("A & B", []Bar{{"one", "1,000", 1000, 900, 1100}, {"two", "2,000", 2000, 2000, 2000}}), []string{"1,000", "2,000"}},
		"nothing":      {Bars("A & B", []Bar{{Name: "one", Label: "0"}, {Name: "two"}}), []string{"0"}},
		"distribution": {Distribution("A & B", []Curve{{"one", []float64{0.5, 10, 1e9}}, {"two", []float64{3, 4}}}), []string{"1 µs", "1 s", "100 %"}},
		"strips": {
			Strips("A & B", 10*time.Millisecond, 20*time.Millisecond, []Strip{{"one", 0, []int{0, 7, 3, 0, 1}}, {"two", 1, []int{0}}, {"none", 9, nil}}),
			[]string{"none", "up to 7", "up to 0", "0s", "20ms", "40ms"},
		},
	} {
		said := svgtest.Texts(t, c.picture)
		for _, want := range append(c.says, "A & B", "one", "two") {
			if !said[want] {
				t.Errorf("%s: %q is missing in\n%s", name, want, c.picture)
			}
		}
	}
}

// TestStrips: a column for each span that is not empty, with its height relative to the fullest.
func TestStrips(t *testing.T) {
	picture := Strips("t", time.Second, time.Second, []Strip{{"s", 0, []int{0, 4, 0, 1, 2}}})
	_, path, _ := strings.Cut(picture, ` d="`)
	path, _, _ = strings.Cut(path, `"`)
	const want = "M130.0 110v-50.0h120.0v50.0zM370.0 110v-12.5h120.0v12.5zM490.0 110v-25.0h120.0v25.0z"
	if path != want {
		t.Errorf("got  %s\nwant %s", path, want)
	}
}
