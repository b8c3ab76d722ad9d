package targets_test

import (
	"testing"

	"github.com/loadctl/loadctl/internal/rawtest"
	"github.com/loadctl/loadctl/targets"
)

func TestRaw(t *testing.T) {
	rawtest.Test(t, func(t *testing.T, spec targets.Spec, local targets.Local) rawtest.Do {
		target, err := targets.New(spec, local)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { target.Close() })
		return func(c targets.Call) targets.Outcome { return target.Do(t.Context(), c) }
	})
}
