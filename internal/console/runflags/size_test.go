package runflags

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestBodyLimit: a limit is a number of bytes or a size as checks have it, and an error says what to write.
func TestBodyLimit(t *testing.T) {
	url := []string{"--url", "http://127.0.0.1/", "--qps", "1"}
	for text, want := range map[string]int64{"0": 0, "1000": 1000, "1000B": 1000, "64kB": 64_000, "1MB": 1_000_000, "2KiB": 2 << 10, "16MiB": 16 << 20, "9223372036854775807": 1<<63 - 1} {
		if s := read(t, append(url, "--body-limit", text)); s.Target.BodyLimit != want {
			t.Errorf("%s: %d bytes, want %d", text, s.Target.BodyLimit, want)
		}
	}
	for _, text := range []string{"", "lots", "1.5MB", "1mb", "1GB", "MB", "-1MB", "1e6", "9223372036854775808", "9999999999999999MB", strings.Repeat("9", 1<<20)} {
		var f Spec
		c := &cobra.Command{}
		f.AddFlags(c)
		err := c.ParseFlags(append(url, "--body-limit", text))
		if err == nil || !strings.Contains(err.Error(), "is no number of bytes; write 1000000, or a whole number with B, kB, MB, KiB or MiB, such as 1MB") || strings.Contains(err.Error(), "int64") {
			t.Errorf("%.40q: %.400v", text, err)
		}
	}
}
