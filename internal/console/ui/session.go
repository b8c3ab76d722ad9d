package ui

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// lifetime is how long a session lasts.
const lifetime = 7 * 24 * time.Hour

// sessions know which browsers are logged in. A session is a cookie EXPIRY.RANDOM.MAC that the key signs. The server
// keeps nothing of it, so that pages live on when the server is started again.
type sessions struct {
	key  []byte
	name string

	next *oneTime
}

// A oneTime is the token that logs the next browser in.
type oneTime struct {
	mu   sync.Mutex
	text string
}

// newSessions returns the sessions of a key. Browsers send cookies to all ports of a host, so the cookies of different
// keys have different names.
func newSessions(key []byte) sessions {
	id := sha256.Sum256(append([]byte("loadctl ui cookie name"), key...))
	return sessions{key: key, name: "loadctl-" + hex.EncodeToString(id[:4]), next: &oneTime{text: random()}}
}

// random returns 256 random bits.
func random() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// token returns the token that logs the next browser in.
func (s sessions) token() string {
	s.next.mu.Lock()
	defer s.next.mu.Unlock()
	return s.next.text
}

// spend reports whether a token is the right one. Then it is void, and there is a new one.
func (s sessions) spend(token string) bool {
	s.next.mu.Lock()
	defer s.next.mu.Unlock()
	if subtle.ConstantTimeCompare([]byte(token), []byte(s.next.text)) != 1 {
		return false
	}
	s.next.text = random()
	return true
}

// cookie returns a new session. Scripts cannot read it, and no page of another site can send it.
func (s sessions) cookie(secure bool) *http.Cookie {
	text := strconv.FormatInt(time.Now().Add(lifetime).Unix(), 10) + "." + random()
	return &http.Cookie{
		Name: s.name, Value: text + "." + s.mac(text), Path: "/", MaxAge: int(lifetime.Seconds()),
		HttpOnly: true, Secure: secure, SameSite: http.SameSiteStrictMode,
	}
}

// mac signs a session.
func (s sessions) mac(text string) string {
	m := hmac.New(sha256.New, s.key)
	m.Write([]byte(text))
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil))
}

// valid tells whether a request is of a session that has not ended.
func (s sessions) valid(r *http.Request) bool {
	for _, c := range r.CookiesNamed(s.name) {
		end := strings.LastIndexByte(c.Value, '.')
		if end < 0 || subtle.ConstantTimeCompare([]byte(c.Value[end+1:]), []byte(s.mac(c.Value[:end]))) != 1 {
			continue
		}
		expiry, _, _ := strings.Cut(c.Value, ".")
		if unix, err := strconv.ParseInt(expiry, 10, 64); err == nil && time.Now().Unix() < unix {
			return true
		}
	}
	return false
}
