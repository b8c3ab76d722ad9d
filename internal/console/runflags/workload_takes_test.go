package runflags

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestWorkloadTakes: a later step uses what a step has taken, in URL, header and body; nothing else does.
func TestWorkloadTakes(t *testing.T) {
	const shop = `
base: http://127.0.0.1:1
rate: 400 flows/s
flows:
  buy:
    - login: {post: /login, json: {user: a}, take: {token: json token, id: regex id=(\d+)}}
    - cart: {at: 2s, get: "/cart/${id}", header: {Authorization: "Bearer ${token}"}}
    - pay: {after: 500ms, post: /pay, json: {token: "${token}"}}
  browse: [list: {get: /}]
`
	dir := folder(t, map[string]string{"shop.yaml": shop, "other.yaml": strings.Replace(shop, "{get: /}", "{get: '/${token}'}", 1)})
	s, _, _, err := OfWorkload(filepath.Join(dir, "shop.yaml"), "")
	if err != nil {
		t.Fatal(err)
	}
	if takes := s.Target.Flows[0].Steps[0].Takes; len(takes) != 2 || takes[1].From != `regex /id=(\d+)/` {
		t.Errorf("%+v", takes)
	}
	if _, _, _, err := OfWorkload(filepath.Join(dir, "other.yaml"), ""); err == nil || !strings.Contains(err.Error(), "other.yaml:9:") || !strings.Contains(err.Error(), "${token}") {
		t.Error(err)
	}
}
