package shop

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/loadctl/loadctl/internal/server/site"
)

// visitor sends requests to a shop.
type visitor struct {
	*testing.T
	shop *site.Site
}

func visit(t *testing.T) visitor {
	t.Helper()
	s, err := site.New(404, Routes())
	if err != nil {
		t.Fatal(err)
	}
	return visitor{t, s}
}

// send sends a request with these headers, as name and value by turns. It returns status and body.
func (v visitor) send(method, target, body string, headers ...string) (int, string) {
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	reply := v.shop.Find(r).Reply(r, []byte(body))
	return reply.Status, string(reply.Body)
}

// login returns a token.
func (v visitor) login(user string) string {
	v.Helper()
	status, body := v.send("POST", "/login", `{"user": "`+user+`"}`)
	token := gjson.Get(body, "token").String()
	if status != 200 || gjson.Get(body, "user").String() != user || token == "" {
		v.Fatalf("login of %q: %d %s", user, status, body)
	}
	return token
}

func TestShop(t *testing.T) {
	v := visit(t)
	cookie := "a=b; session=" + v.login("cy")
	ann, bob := "Bearer "+v.login("ann"), "Bearer "+v.login("b\u00f6b.1")
	for _, c := range []struct {
		method, target, body string
		headers              []string
		status               int
		says                 string
	}{
		{"POST", "/login", "", nil, 400, `"error"`},
		{"POST", "/login", `{"user":""}`, nil, 400, `"error"`},
		{"POST", "/login", `{"user":7}`, nil, 400, `"error"`},
		{"POST", "/login", `{"user":"` + strings.Repeat("x", 201) + `"}`, nil, 400, `"error"`},
		{"POST", "/login", `{"user":"ann","password":"x"}`, nil, 200, `"token"`},
		{"GET", "/login", "", nil, 404, "ok"},
		{"GET", "/items/17", "", nil, 200, `{"id":17,"price":94}`},
		{"GET", "/items/017", "", nil, 200, `{"id":"017","price":`},
		{"GET", "/items/a%2Fb", "", nil, 200, `{"id":"a/b","price":`},
		{"GET", "/items", "", nil, 200, `{"items":[{"id":1,"price":`},
		{"POST", "/cart", `{"item":17}`, nil, 401, `"error"`},
		{"POST", "/cart", `{"item":17}`, []string{"Authorization", "Bearer x"}, 401, `"error"`},
		{"POST", "/cart", `{"item":17}`, []string{"Authorization", ann[:len(ann)-1]}, 401, `"error"`},
		{"POST", "/cart", `{"item":17}`, []string{"Authorization", strings.Replace(ann, ".", "1.", 1)}, 401, `"error"`},
		{"POST", "/cart", `{"item":17}`, []string{"Authorization", strings.Replace(ann, "Bearer", "Basic", 1)}, 401, `"error"`},
		{"POST", "/cart", `{"item":17}`, []string{"Authorization", ann}, 200, `{"total":94,"user":"ann"}`},
		{"POST", "/cart", `{"item":"17","user":"ann"}`, []string{"Authorization", ann}, 200, `{"total":94,"user":"ann"}`},
		{"POST", "/cart", `{"item":17,"user":"ann"}`, []string{"Authorization", bob}, 403, `"error"`},
		{"GET", "/cart", "", []string{"Authorization", strings.Replace(bob, "Bearer", "bearer", 1)}, 200, "{\"total\":0,\"user\":\"b\u00f6b.1\"}"},
		{"GET", "/cart", "", []string{"Cookie", cookie}, 200, `{"total":0,"user":"cy"}`},
		{"GET", "/cart", "", []string{"Cookie", cookie + "x"}, 401, `"error"`},
		{"GET", "/cart", "", []string{"Cookie", cookie, "Authorization", ann}, 200, `{"total":0,"user":"ann"}`},
		{"POST", "/cart", `{"user":"ann"}`, []string{"Cookie", cookie}, 403, `"error"`},
		{"POST", "/pay", "", []string{"Idempotency-Key", "1"}, 401, `"error"`},
		{"POST", "/pay", "", []string{"Authorization", ann}, 400, "Idempotency-Key"},
		{"POST", "/pay", "", []string{"Authorization", ann, "Idempotency-Key", "1"}, 200, `{"paid":true,"user":"ann"}`},
		{"POST", "/pay", "", []string{"Authorization", ann, "Idempotency-Key", "1"}, 409, `"error"`},
		{"POST", "/pay", "", []string{"Authorization", bob, "Idempotency-Key", "1"}, 409, `"error"`},
		{"POST", "/pay", "", []string{"Authorization", bob, "Idempotency-Key", "2"}, 200, `"paid":true`},
		{"POST", "/pay", `{"user":"ann"}`, []string{"Authorization", bob, "Idempotency-Key", "3"}, 403, `"error"`},
		{"PUT", "/echo?n=7&n=8", "text", []string{"X-Id", "1", "X-Id", "2"}, 200, `{"body":"text","headers":{"Host":"example.com","X-Id":"1, 2"},"method":"PUT","path":"/echo","query":{"n":"7, 8"}}`},
	} {
		if status, body := v.send(c.method, c.target, c.body, c.headers...); status != c.status || !strings.Contains(body, c.says) {
			t.Errorf("%s %s %.50s %.100q: %d %s, want %d %s", c.method, c.target, c.body, c.headers, status, body, c.status, c.says)
		}
	}
}

// TestLogout: a session ends with its token or its cookie, and the others of the same user go on.
func TestLogout(t *testing.T) {
	v := visit(t)
	for name, header := range map[string]func(token string) []string{
		"token":  func(token string) []string { return []string{"Authorization", "Bearer " + token} },
		"cookie": func(token string) []string { return []string{"Cookie", "a=b; session=" + token} },
	} {
		ended, other := v.login("ann"), v.login("ann")
		if ended == other {
			t.Fatal("two logins have one token")
		}
		if status, _ := v.send("GET", "/logout", "", header(ended)...); status != 200 {
			t.Errorf("%s: logout %d", name, status)
		}
		for token, want := range map[string]int{ended: 401, other: 200} {
			if status, _ := v.send("GET", "/cart", "", "Authorization", "Bearer "+token); status != want {
				t.Errorf("%s: %d, want %d", name, status, want)
			}
		}
	}
	if status, _ := v.send("GET", "/logout", ""); status != 200 {
		t.Errorf("without a session: %d", status)
	}
}

// TestCookie: a login sets the cookie that a logout takes away.
func TestCookie(t *testing.T) {
	v := visit(t)
	r := httptest.NewRequest("POST", "/login", nil)
	reply := v.shop.Find(r).Reply(r, []byte(`{"user":"ann"}`))
	set, err := http.ParseSetCookie(reply.Header.Get("Set-Cookie"))
	if err != nil || set.Name != "session" || set.Path != "/" || set.Value != gjson.GetBytes(reply.Body, "token").String() {
		t.Errorf("%+v, %v", set, err)
	}
	r = httptest.NewRequest("GET", "/logout", nil)
	if gone, err := http.ParseSetCookie(v.shop.Find(r).Reply(r, nil).Header.Get("Set-Cookie")); err != nil || gone.Name != "session" || gone.MaxAge >= 0 {
		t.Errorf("%+v, %v", gone, err)
	}
}

// TestPaidOnce: of payments with one key at the same time, one is good.
func TestPaidOnce(t *testing.T) {
	v := visit(t)
	token := "Bearer " + v.login("ann")
	var good atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for key := range 100 {
				if status, _ := v.send("POST", "/pay", "", "Authorization", token, "Idempotency-Key", string(rune('a'+key))); status == 200 {
					good.Add(1)
				}
			}
		})
	}
	all.Wait()
	if good.Load() != 100 {
		t.Errorf("%d payments with 100 keys", good.Load())
	}
}

// TestTokensOfOneShop: the token of another shop is worth nothing.
func TestTokensOfOneShop(t *testing.T) {
	if status, _ := visit(t).send("GET", "/cart", "", "Authorization", "Bearer "+visit(t).login("ann")); status != 401 {
		t.Errorf("%d", status)
	}
}
