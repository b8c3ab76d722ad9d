package targets

import (
	"slices"
	"testing"

	"github.com/loadctl/loadctl/targets/events"
)

// TestClassesOfEvents asserts that the classes of events are those that Classes lists, each once.
func TestClassesOfEvents(t *testing.T) {
	want := []string{ClassTruncated, ClassStalled, ClassNoEvent, ClassEventLimit, ClassEncoded, ClassErrorEvent}
	slices.Sort(want)
	if got := events.Classes(); !slices.Equal(got, want) {
		t.Errorf("events have %v; want %v", got, want)
	}
	var listed []string
	for _, class := range Classes() {
		if slices.Contains(want, class) {
			listed = append(listed, class)
		}
	}
	if slices.Sort(listed); !slices.Equal(listed, want) {
		t.Errorf("Classes lists %v; want %v", listed, want)
	}
}
