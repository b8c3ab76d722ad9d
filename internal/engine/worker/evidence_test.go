package worker

import (
	"strings"
	"testing"

	"github.com/loadctl/loadctl/report/samples"
	"github.com/loadctl/loadctl/targets"
)

// TestCutBodies: a body is cut if it had more bytes than were kept, however long what stands for its secrets is.
func TestCutBodies(t *testing.T) {
	w := &observer{Evidence: &Evidence{
		Redact: func(e *targets.Exchange, _ targets.Call) (sent, came bool) {
			for _, m := range []*targets.Message{&e.Sent, &e.Came} {
				m.Body = []byte(strings.NewReplacer("a long secret", targets.Redacted, "pw", targets.Redacted).Replace(string(m.Body)))
			}
			return true, true
		},
		URL: func(targets.Call, *targets.Exchange) string { return "" },
	}}
	const whole, part = "x=a long secret", "x=pw"
	r := &targets.Result{Exchange: &targets.Exchange{
		Sent: targets.Message{Body: []byte(whole), Length: int64(len(whole))},
		Came: targets.Message{Body: []byte(part), Length: int64(len(part)) + 3},
	}}
	var s samples.Sample
	w.describe(&s, r)
	if s.Request.Cut || !s.Response.Cut {
		t.Errorf("%+v, %+v", s.Request, s.Response)
	}
}
