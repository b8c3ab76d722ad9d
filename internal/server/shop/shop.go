// Package shop has the routes of a small shop, as examples of real workloads need them: a login that gives a token,
// items, a cart and a payment.
//
//	s, err := site.New(200, shop.Routes())
//
//	POST /login       {"user": NAME}             200 {"token": T, "user": NAME} and the cookie session
//	GET /items        a list of items            200 {"items": [{"id": 1, "price": N}, …]}
//	GET /items/{id}   an item                    200 {"id": ID, "price": N}
//	GET /cart         with a token               200 {"user": NAME, "total": N}
//	POST /cart        with a token, {"item": ID} 200 {"user": NAME, "total": N}
//	POST /pay         with a token and a key     200 {"user": NAME, "paid": true}
//	GET /logout       ends the session           200 {"ok": true}
//	POST /jobs        {"polls": N}, 0 to 100     201 {"id": ID, "state": "running"}
//	GET /jobs/{id}    N times running            200 {"id": ID, "state": "running"}, then "done"
//	GET /jobs/{id}/result  of a job that is done 200 {"id": ID, "total": N}
//	/echo             any method                 200 {"method": …, "path": …, "query": …, "headers": …, "body": …}
//
// A token comes in "Authorization: Bearer T", or else in the cookie session. Without one that a login gave, or after
// its logout, the answer is 401. If the body of a request names another user than the token, it is 403: so variables of
// two users that are mixed up do not go unnoticed. A payment without Idempotency-Key is 400, and one whose key came
// before is 409.
//
// A job without "polls" is asked 3 times before it is done. Its total is the price of the item N. An id that no job has is 404,
// and the result of a job that is not done is 409.
//
// Guarantees: memory is bounded. A token carries its user and a signature, so logins take none, nor do jobs. Keys, ended
// sessions and questions about jobs take 134 MB each at most; after seen.Most of them no more are remembered. The price of an id is always the same.
package shop

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"hash/fnv"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/loadctl/loadctl/internal/server/seen"
	"github.com/loadctl/loadctl/internal/server/site"
)

// A shop is one shop with its sessions. Its methods are safe for concurrent use.
type shop struct {
	secret string // signs tokens
	logins atomic.Int64
	ended  *seen.Set // tokens of sessions after their logout
	paid   *seen.Set // keys of payments
	polled *seen.Set // jobs with the number of the question about their state
}

// Routes returns the routes of a new shop.
func Routes() []site.Route {
	s := &shop{secret: rand.Text(), ended: seen.New(seen.Most), paid: seen.New(seen.Most)}
	jobs := &shop{secret: rand.Text(), ended: seen.New(1), polled: seen.New(seen.Most)} // no token of a login is the id of a job
	return []site.Route{
		{Pattern: "POST /login", Answer: s.login},
		{Pattern: "GET /items", Answer: list},
		{Pattern: "GET /items/{id}", Answer: item},
		{Pattern: "GET /cart", Answer: s.known(cart)},
		{Pattern: "POST /cart", Answer: s.known(cart)},
		{Pattern: "POST /pay", Answer: s.known(s.pay)},
		{Pattern: "GET /logout", Answer: s.logout},
		{Pattern: "POST /jobs", Answer: jobs.create},
		{Pattern: "GET /jobs/{id}", Answer: jobs.state},
		{Pattern: "GET /jobs/{id}/result", Answer: jobs.result},
		{Pattern: "/echo", Answer: echo},
	}
}

// object is a JSON object.
type object = map[string]any

// answer returns a reply with a JSON object.
func answer(status int, o object) site.Reply {
	body, _ := json.Marshal(o) // strings, numbers and lists of them
	return site.Reply{Status: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: body}
}

// refuse returns a reply that says what was wrong.
func refuse(status int, why string) site.Reply { return answer(status, object{"error": why}) }

// longestName bounds the name of a user, in bytes, because tokens are sent in headers.
const longestName = 200

// login begins a session: each login gets a token of its own, also for the same user.
func (s *shop) login(_ *http.Request, body []byte) site.Reply {
	var who struct {
		User string `json:"user"`
	}
	if json.Unmarshal(body, &who) != nil || who.User == "" || len(who.User) > longestName {
		return refuse(http.StatusBadRequest, `send a JSON object with the name of a user: {"user": "ann"}`)
	}
	token := s.token(who.User, s.logins.Add(1))
	reply := answer(http.StatusOK, object{"token": token, "user": who.User})
	reply.Header.Set("Set-Cookie", (&http.Cookie{Name: "session", Value: token, Path: "/", HttpOnly: true}).String())
	return reply
}

// token returns what proves a login:
//
//	base64(user).number.base64(HMAC(secret, all before it))
func (s *shop) token(user string, number int64) string {
	signed := base64.RawURLEncoding.EncodeToString([]byte(user)) + "." + strconv.FormatInt(number, 10)
	return signed + "." + s.signature(signed)
}

func (s *shop) signature(text string) string {
	mac := hmac.New(sha256.New, []byte(s.secret))
	mac.Write([]byte(text))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:16])
}

// user returns whom a token is for; "" if no login gave it, or the session is over.
func (s *shop) user(token string) string {
	i := strings.LastIndexByte(token, '.')
	if i < 0 || !hmac.Equal([]byte(token[i+1:]), []byte(s.signature(token[:i]))) || s.ended.Has(token) {
		return ""
	}
	name, _, _ := strings.Cut(token, ".")
	user, _ := base64.RawURLEncoding.DecodeString(name) // it is signed, so it is right
	return string(user)
}

// bearer returns the token of a request.
func bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// session returns the token of a request, or else that of its cookie.
func session(r *http.Request) string {
	token := bearer(r)
	if cookie, err := r.Cookie("session"); token == "" && err == nil {
		token = cookie.Value
	}
	return token
}

// known answers requests of users that are logged in.
func (s *shop) known(next func(user string, r *http.Request, body []byte) site.Reply) func(*http.Request, []byte) site.Reply {
	return func(r *http.Request, body []byte) site.Reply {
		user := s.user(session(r))
		if user == "" {
			reply := refuse(http.StatusUnauthorized, "send the token of a login: Authorization: Bearer TOKEN, or its cookie")
			reply.Header.Set("WWW-Authenticate", "Bearer")
			return reply
		}
		var who struct {
			User *string `json:"user"`
		}
		if json.Unmarshal(body, &who) == nil && who.User != nil && *who.User != user {
			return refuse(http.StatusForbidden, "the token is that of another user")
		}
		return next(user, r, body)
	}
}

// cart puts an item into a cart, or shows an empty one. It remembers nothing.
func cart(user string, _ *http.Request, body []byte) site.Reply {
	var chosen struct {
		Item json.RawMessage `json:"item"`
	}
	total := 0
	if json.Unmarshal(body, &chosen) == nil && chosen.Item != nil {
		total = price(strings.Trim(string(chosen.Item), `"`))
	}
	return answer(http.StatusOK, object{"user": user, "total": total})
}

// pay pays once for each key.
func (s *shop) pay(user string, r *http.Request, _ []byte) site.Reply {
	key := r.Header.Get("Idempotency-Key")
	switch {
	case key == "":
		return refuse(http.StatusBadRequest, "send a header Idempotency-Key, another one for each payment")
	case s.paid.Add(key):
		return refuse(http.StatusConflict, "there was a payment with this Idempotency-Key")
	}
	return answer(http.StatusOK, object{"user": user, "paid": true})
}

// logout ends a session.
func (s *shop) logout(r *http.Request, _ []byte) site.Reply {
	token := session(r)
	if s.user(token) != "" { // others need no memory
		s.ended.Add(token)
	}
	reply := answer(http.StatusOK, object{"ok": true})
	reply.Header.Set("Set-Cookie", (&http.Cookie{Name: "session", Path: "/", MaxAge: -1, HttpOnly: true}).String())
	return reply
}

// listed is how many items the list has.
const listed = 20

func list(*http.Request, []byte) site.Reply {
	var items []object
	for id := range listed {
		items = append(items, itemOf(strconv.Itoa(id+1)))
	}
	return answer(http.StatusOK, object{"items": items})
}

func item(r *http.Request, _ []byte) site.Reply {
	path := r.URL.EscapedPath() // an id may have a slash in it
	id, _ := url.PathUnescape(path[strings.LastIndexByte(path, '/')+1:])
	return answer(http.StatusOK, itemOf(id))
}

// itemOf returns an item. Its id is a number if it is written like one.
func itemOf(id string) object {
	if n, err := strconv.ParseInt(id, 10, 53); err == nil && strconv.FormatInt(n, 10) == id {
		return object{"id": n, "price": price(id)}
	}
	return object{"id": id, "price": price(id)}
}

// price returns what the item with an id costs, 1 to 100.
func price(id string) int {
	h := fnv.New32a()
	h.Write([]byte(id))
	return int(h.Sum32()%100) + 1
}

// echo answers with what the server received. Of several values with one name it makes a list with commas.
func echo(r *http.Request, body []byte) site.Reply {
	query, headers := map[string]string{}, map[string]string{"Host": r.Host}
	for name, values := range r.URL.Query() {
		query[name] = strings.Join(values, ", ")
	}
	for name, values := range r.Header {
		headers[name] = strings.Join(values, ", ")
	}
	return answer(http.StatusOK, object{"method": r.Method, "path": r.URL.Path, "query": query, "headers": headers, "body": string(body)})
}
