package ledger

import (
	"encoding/json"
	"time"
)

// People is what people are shown of a row: whose it is. A run writes it with each call, and no script reads it.
type People struct {
	Run   string `json:"run"`   // the name of the run
	Who   string `json:"who"`   // who created it, USER@HOST
	Since int64  `json:"since"` // since when it has the row, µs
}

// Text returns the argument of Ask.
func (p People) Text() string { return encoded(p) }

// A Note is what people say about the rate of a budget, or about its freeze, and who said it.
type Note struct {
	Text string `json:"text"`
	Who  string `json:"who"` // USER@HOST
}

// encoded returns a struct of strings and numbers as JSON, which cannot fail.
func encoded(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}

// decoded reads what encoded wrote. Of a text that something else has written it keeps nothing: it is for people only.
func decoded[T any](text string) (v T) {
	if json.Unmarshal([]byte(text), &v) != nil {
		var none T
		return none
	}
	return v
}

// timeOf returns µs since 1970 as a time; 0 is the zero time.
func timeOf(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}
