package lastly

import (
	"context"
	"slices"
	"testing"
)

// TestDo: at the end each function is called that was not undone, once.
func TestDo(t *testing.T) {
	t.Parallel()
	ctx, end := With(t.Context())
	var called []string
	note := func(name string) func() { return func() { called = append(called, name) } }
	child, cancel := context.WithCancel(ctx)
	Do(child, note("kept"))
	cancel()
	Do(ctx, note("undone"))()
	undo := Do(ctx, note("also kept"))
	end()
	end()
	undo()
	slices.Sort(called)
	if want := []string{"also kept", "kept"}; !slices.Equal(called, want) {
		t.Errorf("called %v, want %v", called, want)
	}
	Do(t.Context(), func() { t.Error("called without With") })()
}
