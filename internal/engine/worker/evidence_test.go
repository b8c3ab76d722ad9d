package worker

import (
	"strings"
	"testing"

	"github.com/loadctl/loadctl/report/samples"
	"github.com/loadctl/loadctl/targets"
)

// TestCutIsOfWhatCame: a body that was made longer or shorter to hide a secret is cut only if it was before.
func TestCutIsOfWhatCame(t *testing.T) {
	secrets := strings.NewReplacer("abc", targets.Redacted, "correct horse battery", targets.Redacted)
	hide := func(m *targets.Message) { m.Body = []byte(secrets.Replace(string(m.Body))) }
	w := &observer{Evidence: &Evidence{
		Redact: func(e *targets.Exchange, _ targets.Call) (sent, came bool) {
			hide(&e.Sent)
			hide(&e.Came)
			return true, true
		},
		URL: func(targets.Call, *targets.Exchange) string { return "" },
	}}
	for _, c := range []struct {
		body   string
		length int64
		cut    bool
	}{
		{"pin=abc", 7, false}, {"pin=abc", 9, true}, {"pin=correct horse battery", 25, false}, {"pin=correct horse battery", 26, true}, {"", 0, false}, {"", 11, true},
	} {
		var s samples.Sample
		m := targets.Message{Start: "x", Body: []byte(c.body), Length: c.length}
		if w.describe(&s, &targets.Result{Exchange: &targets.Exchange{Sent: m, Came: m}}); s.Request.Cut != c.cut || s.Response.Cut != c.cut {
			t.Errorf("%q of %d bytes: cut %v and %v", c.body, c.length, s.Request.Cut, s.Response.Cut)
		}
	}
}
