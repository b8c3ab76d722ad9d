package check

import (
	"fmt"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// mostGot bounds what a verdict quotes of an answer, in bytes.
const mostGot = 200

// A Verdict is what a check says about an answer.
type Verdict struct {
	Check  string // as it was written
	Passed bool
	Got    string // what the answer has in that place, cut off; "" = nothing
}

// Verdicts returns what each check says. took is as in Failed. It is for few answers: it allocates.
func (l List) Verdicts(a Answer, took time.Duration) (all []Verdict) {
	for _, c := range l {
		all = append(all, Verdict{c.text, c.test(a, took), c.got(a, took)})
	}
	return all
}

// got returns what an answer has where a check looks. A body is shown elsewhere.
func (c *Check) got(a Answer, took time.Duration) string {
	_, rest, _ := strings.Cut(c.text, " ")
	name, _, _ := strings.Cut(rest, " = ")
	var got string
	switch c.kind.name {
	case "status":
		got = fmt.Sprint(a.Status())
	case "json":
		if gjson.ValidBytes(a.Content()) {
			got = gjson.GetBytes(a.Content(), strings.TrimSpace(name)).Raw
		}
	case "header":
		got = strings.Join(a.Field(strings.TrimSpace(name)), ", ")
	case "size":
		got = fmt.Sprintf("%dB", a.Length())
	case "time":
		got = took.String()
	}
	return Cut(got)
}

// Cut returns the beginning of what was found, as a verdict quotes it.
func Cut(got string) string {
	if len(got) <= mostGot {
		return got
	}
	return strings.ToValidUTF8(got[:mostGot], "") + "…"
}
