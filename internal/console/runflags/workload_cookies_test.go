package runflags

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestWorkloadCookies: a file gives flows cookies. If no request could send one, that is an error at its place.
func TestWorkloadCookies(t *testing.T) {
	const several = "rate: 5 flows/s\nflows: {f: [a: {get: 'http://a/'}, b: {get: 'http://a/'}]}\n"
	dir := folder(t, map[string]string{
		"on.yaml": several + "cookies: true", "off.yaml": several + "cookies: False",
		"one.yaml": "rate: 5 flows/s\nflows: {f: [a: {get: 'http://a/'}]}\ncookies: true",
	})
	for name, want := range map[string]bool{"on.yaml": true, "off.yaml": false, "one.yaml": true} { // one.yaml is for --redirects
		if s, _, _, err := OfWorkload(filepath.Join(dir, name), ""); err != nil || s.Target.Cookies != want {
			t.Errorf("%s: %v, %v", name, s.Target.Cookies, err)
		}
	}
	run := func(redirects int) error {
		f := Spec{MinWorkers: 1}
		f.AddFlags(&cobra.Command{})
		f.workloadFile.text, f.target.Redirects = filepath.Join(dir, "one.yaml"), redirects
		_, err := f.Spec(strings.NewReader(""))
		return err
	}
	if err := run(0); err == nil || !strings.Contains(err.Error(), "one.yaml:3:10: cookies: no request follows another one") || strings.Contains(err.Error(), "\n") {
		t.Error(err)
	}
	if err := run(1); err != nil {
		t.Error(err)
	}
	s, _, _, _ := OfWorkload(filepath.Join(dir, "on.yaml"), "")
	if flags := strings.Join(s.Setting().Flags, " "); !strings.Contains(flags, "; cookies]") {
		t.Error(flags)
	}
}
