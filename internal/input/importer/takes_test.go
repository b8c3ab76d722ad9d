package importer

import (
	"fmt"
	"strings"
	"testing"
)

// exchanged is an entry at a second: a request with such members, and its answer.
func exchanged(second int, method, url, request, response string) string {
	return fmt.Sprintf(`{"startedDateTime": "2026-01-31T12:00:%02dZ", "request": {"method": %q, "url": %q%s}, "response": {%s}}`, second, method, url, request, response)
}

// answered is an answer of JSON.
func answered(body string) string {
	return fmt.Sprintf(`"content": {"mimeType": "application/json", "text": %q}`, body)
}

// TestTakes: what an answer gave and a later request carries is taken, wherever both have it.
func TestTakes(t *testing.T) {
	const jwt = "eyJh01.abc_d-e.f0="
	bearer := `, "headers": [{"name": "Authorization", "value": "Bearer ` + jwt + `"}]`
	for _, c := range []struct {
		response, url, request string
		want                   []string
	}{
		{answered(`{"token":"` + jwt + `"}`), "http://a/b", bearer, []string{"take: {token: json token}", `Authorization: "Bearer ${token}"`}},
		{answered(`["x",{"a b":["` + jwt + `"]}]`), "http://a/b", bearer, []string{`take: {a_b: "json 1.a\\ b.0"}`, "Bearer ${a_b}"}},
		{answered(`{"now":"` + jwt + `"}`), "http://a/b", bearer, []string{"take: {now2: json now}", "Bearer ${now2}"}},
		{answered(`{"7":"` + jwt + `"}`), "http://a/b", bearer, []string{"take: {value_7: json 7}", "Bearer ${value_7}"}},
		{answered(`{"id":"ab/cd+12=="}`), "http://a/b?x=1&t=ab%2Fcd%2B12%3D%3D&y=2", "", []string{"take: {id: json id}", "/b?x=1&t=${id}&y=2"}},
		{answered(`{"id":"7f3e-11aa"}`), "http://a/7f3e-11aa/7f3e-11aa", "", []string{"/${id}/${id}", "GET /*/*:"}},
		{`"headers": [{"name": "X-Token", "value": "7f3e-11aa"}]`, "http://a/7f3e-11aa", "", []string{"take: {X-Token: header X-Token}", "/${X-Token}"}},
		{`"headers": [{"name": "set-cookie", "value": "a=b; Path=/"}, {"name": "set-cookie", "value": "sid=7f3e-11aa"}]`, "http://a/7f3e-11aa", "", []string{"take: {sid: cookie sid}", "/${sid}"}},
		{answered(`{"k":"7f3e-11aa"}`), "http://a/b", `, "postData": {"mimeType": "application/vnd.x+json", "text": "{\"k\": [\"7f3e-11aa\", 1], \"\": \"7f3e-11aa\"}"}`,
			[]string{`body: '{"k": ["${k}", 1], "": "${k}"}'`}},
	} {
		text, err := Workload(strings.NewReader(recording(exchanged(0, "GET", "http://a/", "", c.response), exchanged(1, "GET", c.url, c.request, ""))), Options{Name: "t"})
		if err != nil {
			t.Errorf("%s: %v", c.response, err)
			continue
		}
		parsed(t, string(text))
		for _, want := range c.want {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s, %s: no %s in\n%s", c.response, c.url, want, text)
			}
		}
	}
}

// TestNoTakes: what is no token, what the client knew before, and what no earlier step got, stays as it is.
func TestNoTakes(t *testing.T) {
	page := `"content": {"mimeType": "text/html", "text": "<input name=\"k\" value=\"aaaa1111\"><input name=\"k\" value=\"7f3e-11aa\">"}`
	for what, c := range map[string]struct{ first, response, second string }{
		"short":                           {"http://a/", answered(`{"id":"a1b2c3d"}`), "http://a/a1b2c3d"},
		"without a digit":                 {"http://a/", answered(`{"id":"checkout"}`), "http://a/checkout"},
		"without a letter":                {"http://a/", answered(`{"id":"12345678","n":12345678}`), "http://a/12345678"},
		"a date":                          {"http://a/", answered(`{"id":"2026-01-31T12:00:00Z"}`), "http://a/2026-01-31T12:00:00Z"},
		"with a space":                    {"http://a/", answered(`{"id":"item 1234"}`), "http://a/item%201234"},
		"the client sent it before":       {"http://a/?id=7f3e-11aa", answered(`{"id":"7f3e-11aa"}`), "http://a/7f3e-11aa"},
		"a part of a value":               {"http://a/", answered(`{"id":"7f3e-11aa"}`), "http://a/x7f3e-11aa"},
		"no JSON":                         {"http://a/", answered(`{"id":"7f3e-11aa"`), "http://a/7f3e-11aa"},
		"the pattern finds another field": {"http://a/", page, "http://a/7f3e-11aa"},
		"more than a run keeps":           {"http://a/", answered(`{"x":"` + strings.Repeat("x", 1<<20) + `","id":"7f3e-11aa"}`), "http://a/7f3e-11aa"},
	} {
		text, err := Workload(strings.NewReader(recording(exchanged(0, "GET", c.first, "", c.response), exchanged(1, "GET", c.second, "", answered(`{"id":"7f3e-11aa"}`)))), Options{Name: "t"})
		if err != nil || strings.Contains(string(text), "take") || strings.Contains(string(text), "${") {
			t.Errorf("%s: %v\n%s", what, err, text)
		}
	}
}

// TestSecretsOfRequests: fields and parameters whose names suggest a secret are columns of a data file, one for each
// value.
func TestSecretsOfRequests(t *testing.T) {
	for command, want := range map[string][]string{
		`curl http://a/ -d 'user=ann&password=hunter2'`:                                                {"#     password\ndata:\n  secrets: {csv: secrets.csv}\n", `form: {user: ann, password: "${secrets.password}"}`},
		`curl 'http://a/?api_key=hunter2&page=1'`:                                                      {"#     api_key\n", `get: "/?api_key=${secrets.api_key}&page=1"`},
		`curl http://a/ -H 'Content-Type: application/json' -d '{"login":{"pw":"hunter2\"","pin":7}}'`: {"#     pw\n", `json: {login: {pw: "${secrets.pw}", pin: 7}}`},
		"curl 'http://a/?key=hunter2'\ncurl 'http://a/?key=hunter22'\ncurl 'http://a/?token=hunter2'":  {"#     key,key2\n", "${secrets.key}", "${secrets.key2}", "?token=${secrets.key}"},
		`curl http://a/ -d 'a%20password=hunter2&a=1&a=2'`:                                             {"#     a_password\n", `body: "a%20password=${secrets.a_password}&a=1&a=2"`},
	} {
		text, err := Workload(strings.NewReader(command), Options{Name: "t"})
		if err != nil {
			t.Errorf("%s: %v", command, err)
			continue
		}
		parsed(t, string(text))
		for _, want := range want {
			if !strings.Contains(string(text), want) || strings.Contains(string(text), "hunter2") {
				t.Errorf("%s: no %s in\n%s", command, want, text)
			}
		}
	}
	text, err := Workload(strings.NewReader(`curl 'http://a/?author=ann' -d 'password=&keyword=x'`), Options{Name: "t"})
	if err != nil || strings.Contains(string(text), "data:") {
		t.Errorf("there is no secret: %v\n%s", err, text)
	}
}
