package wire

import (
	"strings"
	"testing"

	"github.com/loadctl/loadctl/targets"
)

func TestCheckVersion(t *testing.T) {
	for want, s := range map[string]targets.Spec{
		`http: is "3.5"; write`:           {URL: "http://h", HTTP: "3.5"},
		"streams: must be 1 to 1000":      {URL: "http://h", HTTP: "2", Streams: 1001},
		"streams: HTTP/1.1 carries one":   {URL: "http://h", Streams: 2},
		"streams: contradicts no-keep-al": {URL: "http://h", HTTP: "2", Streams: 2, NoKeepAlive: true},
		"http: only http and https have":  {URL: "tcp://h:1", Body: []byte("x"), HTTP: "2"},
	} {
		if err := Validate(s); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", s, err, want)
		}
	}
}
