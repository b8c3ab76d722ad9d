package limit_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/lua"
)

// finding is the check that a script fails, and the message of that check.
type finding struct{ check, says string }

// defects returns the scripts in testdata. Each is a limiter as it is often written, with the finding of the suite.
func defects() map[string]finding {
	return map[string]finding{
		"fixed_window_counts_refused": {"refused", "a refused call has changed"},
		"fixed_window_no_expiry":      {"keys", "lives for 0 ms"},
		"fixed_window_rearmed":        {"exact", "not granted after retry_after"},
		"fixed_window_seconds":        {"exact", "retry_after"},
		"sliding_log_swapped":         {"exact", "granted 1 µs before"},
		"sliding_log_merged":          {"bound", "permits within"},
		"sliding_log_logs_refused":    {"refused", "a refused call has changed"},
		"sliding_log_no_expiry":       {"keys", "lives for 0 ms"},
		"sliding_list_client_clock":   {"exact", "1 µs before"},
		"sliding_list_seconds":        {"exact", "1 µs before"},
		"sliding_list_string":         {"bound", "compare number with string"},
		"sliding_list_index":          {"bound", "a boolean value"},
		"sliding_list_no_expiry":      {"keys", "lives for 0 ms"},
		"sliding_window_keys":         {"keys", "given was"},
		"sliding_window_no_expiry":    {"memory", "bytes after"},
		"leaky_bucket_endless":        {"instant", "in an instant"},
		"leaky_bucket_floats":         {"bound", "not four integers"},
		"leaky_bucket_no_expiry":      {"keys", "lives for 0 ms"},
		"token_bucket_client_clock":   {"bound", "permits within"},
		"token_bucket_seconds":        {"exact", "1 µs before"},
		"token_bucket_ttl_zero":       {"bound", "permits within 0 µs"},
		"token_bucket_ttl_short":      {"keys", "ms, its use for 86400000"},
		"token_bucket_fractions":      {"exact", "not granted after retry_after"},
		"token_bucket_min":            {"bound", "variable 'min'"},
		"token_bucket_back":           {"back", "permits within"},
		"token_bucket_two_keys":       {"keys", "given was"},
		"gcra_digits":                 {"exact", "permits in"},
		"gcra_revalued":               {"revalued", "at the fast rate"},
		"gcra_cost":                   {"never", "no error"},
	}
}

// TestDefects: the suite finds each known defect of limiters on Redis. It needs a real Redis, as the embedded one has
// another tostring.
func TestDefects(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.lua")
	if err != nil || len(files) != len(defects()) {
		t.Fatalf("testdata has %d scripts, %d are listed (error %v)", len(files), len(defects()), err)
	}
	for name, want := range defects() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(filepath.Join("testdata", name+".lua"))
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range promises() {
				if !strings.HasPrefix(name, p.script) || p.debt || p.script == "fixed_window" && p.option == 1 {
					continue
				}
				// The naive limiter replaces ours; everything else is the same.
				own, err := os.ReadFile(filepath.Join("..", "..", "lua", p.script+".lua"))
				if err != nil {
					t.Fatal(err)
				}
				whole := strings.Replace(lua.Text(p.script), string(own), string(text), 1)
				if !strings.Contains(whole, string(text)) {
					t.Fatalf("lua/%s.lua is not in the script: was it changed since this test was built?", p.script)
				}
				s := newSubject(t, redistest.Start(t).Client(), p, whole)
				checks()[want.check](s)
				if !strings.Contains(strings.Join(s.failed, "\n"), want.says) {
					t.Errorf("the check %q finds %.500q, want it to say %q", want.check, s.failed, want.says)
				}
				return
			}
			t.Error("it is a variant of none of the limiters")
		})
	}
}
