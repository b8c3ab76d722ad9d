package lua_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
)

// samplesOf returns what is stored of the samples of the run.
func (b *bench) samplesOf() map[string]string {
	b.Helper()
	all, err := b.client.HGetAll(b.Context(), b.names("samples")[1]).Result()
	if err != nil {
		b.Fatal(err)
	}
	return all
}

// TestSamplesAreBounded: all samples of a run have at most so many bytes, whoever writes in which order. The newest stay.
func TestSamplesAreBounded(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		b.must("make", makeArgs()...)
		const most = 1000
		for i, size := range []int{400, 300, 200, 400, 1000, 10, 10, 990, 500, 500, 0} {
			who := fmt.Sprintf("w%d/1", i%5)
			reply, err := b.call("samples", "uid", who, strings.Repeat("x", size), most)
			if err != nil || reply[0] != "OK" {
				t.Fatalf("%v, %v", reply, err)
			}
			all := b.samplesOf()
			total := all[":bytes"]
			delete(all, ":bytes")
			sum := 0
			for _, text := range all {
				sum += len(text)
			}
			if total != fmt.Sprint(sum) || sum > most || len(all[who]) != size {
				t.Errorf("call %d: %d bytes, counted as %s; those of %s are %d, want %d", i, sum, total, who, len(all[who]), size)
			}
		}
		before := b.dump()
		for _, bad := range [][]any{{"other", "w/1", "x", most}, {"uid", "w/1", strings.Repeat("x", most+1), most}, {"uid", "w", "x", most}, {"uid", "w/1", "x", 0}} {
			if reply, err := b.call("samples", bad...); err == nil && reply[0] == "OK" {
				t.Errorf("%.40v: %v", bad, reply)
			}
		}
		if !maps.Equal(before, b.dump()) {
			t.Error("a refused call has changed something")
		}
	})
}
