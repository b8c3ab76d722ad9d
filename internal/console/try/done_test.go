package try

import (
	"strings"
	"testing"

	"github.com/loadctl/loadctl/targets"
)

// TestAdvice: what to do about a request without an answer depends on how far it came.
func TestAdvice(t *testing.T) {
	for _, c := range []struct {
		r    Request
		says string
	}{
		{Request{Class: targets.ClassTimeout}, "whether a firewall drops what is sent"},
		{Request{Class: targets.ClassTimeout, BytesOut: 9}, "it was sent, and no answer came in time: give it a longer --timeout"},
		{Request{Class: targets.ClassTimeout, BytesOut: 9, BytesIn: 1}, ""},
		{Request{Class: targets.ClassDNS}, "check the host in the URL"},
		{Request{Class: targets.ClassStatus, BytesOut: 9, BytesIn: 9}, ""},
	} {
		d := Done{Requests: []Request{c.r}}
		if err := d.Err(); err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "; ") != (c.says != "") {
			t.Errorf("%+v: %v", c.r, err)
		}
	}
}
