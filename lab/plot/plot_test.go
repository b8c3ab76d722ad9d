package plot

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

// texts returns the texts of a picture, which must be XML without invalid numbers.
func texts(t *testing.T, picture string) map[string]bool {
	t.Helper()
	if strings.Contains(picture, "NaN") || strings.Contains(picture, "Inf") {
		t.Errorf("not a number:\n%s", picture)
	}
	all := map[string]bool{}
	for d := xml.NewDecoder(strings.NewReader(picture)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("%v:\n%s", err, picture)
		}
		if text, ok := token.(xml.CharData); ok {
			all[string(text)] = true
		}
	}
}

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
		said := texts(t, c.picture)
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
