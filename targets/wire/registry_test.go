package wire

import (
	"slices"
	"testing"

	"github.com/loadctl/loadctl/targets"
)

// TestSchemes: each scheme that package targets lists has one protocol, and no protocol has another.
func TestSchemes(t *testing.T) {
	var built []string
	for _, p := range registry() {
		built = append(built, p.schemes...)
	}
	slices.Sort(built)
	if listed := targets.Schemes(); !slices.Equal(built, listed) {
		t.Errorf("protocols for %q, and listed are %q", built, listed)
	}
}
