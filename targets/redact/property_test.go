package redact_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/redact"
)

// secretNames and otherNames are names of members; only the first are those of secrets.
var (
	secretNames = []string{"password", "userPassword", "access_token", "X-Api-Key", "client_secret", "sessionId", "csrf", "Authorization", "private_key", "pin", "given"}
	otherNames  = []string{"id", "author", "name", "monkey", "a b", "größe", "x.y", "items", "idempotency_key"}
)

// random makes documents. What it plants is in secrets.
type random struct {
	*rand.Rand
	secrets []string
}

func (r *random) of(list []string) string { return list[r.IntN(len(list))] }

// secret returns a new secret with characters that need escapes.
func (r *random) secret() string {
	const letters = `abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789 +/=&%"'\<>{}[]:;,üß—` + "\t"
	all := []rune(letters)
	b := []rune{rune('a' + r.IntN(26))}
	for range 9 + r.IntN(30) {
		b = append(b, all[r.IntN(len(all))])
	}
	s := string(append(b, 'z'))
	r.secrets = append(r.secrets, s)
	return s
}

// value returns a JSON value; secret: all that is in it is one.
func (r *random) value(depth int, secret bool) string {
	switch n := r.IntN(8); {
	case n < 2 && depth > 0:
		var all []string
		for range r.IntN(4) {
			name := r.of(otherNames)
			inside := secret || r.IntN(3) == 0
			if inside && !secret {
				name = r.of(secretNames)
			}
			all = append(all, r.text(name)+r.space()+":"+r.space()+r.value(depth-1, inside))
		}
		return "{" + strings.Join(all, ","+r.space()) + "}"
	case n == 2 && depth > 0:
		var all []string
		for range r.IntN(4) {
			all = append(all, r.value(depth-1, secret))
		}
		return "[" + strings.Join(all, ",") + "]"
	case secret:
		return r.text(r.secret())
	case n == 3 && depth > 0:
		return r.text(r.value(depth-1, false)) // JSON in JSON
	case n == 4:
		return r.of([]string{"true", "null", "12", "-3.5e7"})
	}
	return r.text(r.of([]string{"hello", "5 o'clock", `say "hi"`, "a\\b", "x=1&y=2", "50 % + 3", "größer"}))
}

func (r *random) space() string { return r.of([]string{"", "", " ", "\n  "}) }

// text returns a string of JSON, with one escape or another.
func (r *random) text(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(r.IntN(2) == 0)
	_ = e.Encode(s)
	text := strings.TrimSpace(b.String())
	if r.IntN(3) == 0 {
		text = strings.ReplaceAll(text, "/", `\/`)
	}
	return text
}

// encoded returns a secret in one of its forms.
func (r *random) encoded(s string) string {
	switch r.IntN(6) {
	case 0:
		return url.QueryEscape(s)
	case 1:
		return strings.Trim(r.text(s), `"`)
	case 2:
		return base64.StdEncoding.EncodeToString([]byte(s))
	case 3:
		return base64.RawURLEncoding.EncodeToString([]byte("abcd"[:r.IntN(4)] + s + "yz"))
	case 4:
		return fmt.Sprintf("%x", s)
	}
	return s
}

// TestNoSecretLeaks plants secrets under names of secrets in random documents, repeats them elsewhere in other encodings,
// cuts the documents, and looks for the secrets in the result. JSON that was whole stays JSON.
func TestNoSecretLeaks(t *testing.T) {
	for seed := range uint64(3000) {
		r := &random{Rand: rand.New(rand.NewPCG(seed, 1))}
		doc := r.value(4, false)
		query := fmt.Sprintf("a=1&%s=%s&b=2", r.of(secretNames[:8]), url.QueryEscape(r.secret()))
		lines := doc + "\n"
		for _, s := range r.secrets {
			lines += r.encoded(s) + " | "
		}
		whole := lines
		if r.IntN(2) == 0 {
			lines = lines[:r.IntN(len(lines)+1)]
		}
		e := targets.Exchange{
			Sent:  targets.Message{Start: "GET /x?" + query + " HTTP/1.1", Body: []byte(doc)},
			Came:  targets.Message{Start: "HTTP/1.1 200 OK", Headers: []targets.Header{{Name: "Content-Type", Value: "text/plain"}}, Body: []byte(lines), Length: 1 << 20},
			Error: whole,
		}
		redact.New(targets.Spec{URL: "http://a.test"}, []string{"GIVEN"}).Exchange(&e, redact.Known{})
		if json.Valid([]byte(doc)) && !json.Valid(e.Sent.Body) {
			t.Fatalf("seed %d: no JSON any more:\n%s\n%s", seed, doc, e.Sent.Body)
		}
		all := texts(&e)
		for _, s := range r.secrets {
			for _, form := range []string{s, url.QueryEscape(s), strings.Trim(quoted(s), `"`), base64.StdEncoding.EncodeToString([]byte(s)), fmt.Sprintf("%x", s)} {
				if i := strings.Index(all, form[:min(len(form), 9)]); i >= 0 {
					t.Fatalf("seed %d: %q leaks: …%s…\nof\n%s", seed, s, all[max(0, i-60):min(len(all), i+60)], lines)
				}
			}
		}
	}
}

// hostile are texts that make careless code slow.
func hostile() map[string]string {
	all := map[string]string{}
	for _, part := range []string{
		`{"key":`, `"token":"a",`, `[`, `"`, `'`, `\`, `:`, `=`, `a=`, `token=`, `<token>`, `<token>a<\/token>`, `</`, `<`, `id="token`, `name="key" `,
		"form-data;", "form-data; name=\"key\"\n\n", "%25", "&amp;", `\u0041`, "://", "://a:b@", "eyJ", "eyJ.", "Bearer ", "bearer a1B2c3D4 ", "a", "aaaa ", "\n", "\"key\"\n:", "key:\n", "key: 1 ",
	} {
		all[part] = strings.Repeat(part, 64<<10/len(part))
	}
	var secrets, names, alike strings.Builder
	for i := 0; secrets.Len() < 64<<10; i++ {
		fmt.Fprintf(&secrets, `"token":"%08x",`, i*7919)
		fmt.Fprintf(&names, `"monkey%d":1,`, i)
		fmt.Fprintf(&alike, `"key":"%s",`, strings.Repeat("a", i%200))
	}
	all["many secrets"], all["many names"], all["secrets alike"] = secrets.String(), names.String(), alike.String()
	return all
}

// TestHostileTextsAreQuick asserts that the time for a text is linear in its length: four times the text never takes sixteen
// times as long. A busy machine makes single turns slow, so one good turn of many is enough.
func TestHostileTextsAreQuick(t *testing.T) {
	took := func(text string) time.Duration {
		e := targets.Exchange{Came: targets.Message{Body: []byte(text), Length: 1 << 20}}
		begin := time.Now()
		redact.New(targets.Spec{}, nil).Exchange(&e, redact.Known{})
		return time.Since(begin)
	}
	for name, text := range hostile() {
		quarter, whole := took(text[:len(text)/4]), took(text)
		for turn := 0; whole > 10*quarter+10*time.Millisecond; turn++ {
			if turn == 20 {
				t.Errorf("%.40q: %v for a quarter, %v for all", name, quarter, whole)
				break
			}
			whole = min(whole, took(text))
		}
		t.Logf("%-40.40q %v", name, whole)
	}
}

// FuzzExchange asserts that nothing panics, and that a planted header does not come back in the body.
func FuzzExchange(f *testing.F) {
	for name, text := range hostile() {
		f.Add(text[:min(len(text), 300)], name, false)
	}
	for _, p := range plants() {
		f.Add(string(p.e.Came.Body), string(p.e.Sent.Body), p.e.Came.Binary)
	}
	f.Fuzz(func(t *testing.T, body, sentBody string, binary bool) {
		const planted = "qZ7/pl+nted"
		e := targets.Exchange{
			Sent:  targets.Message{Headers: []targets.Header{{Name: "X-Key", Value: planted}}, Body: []byte(sentBody)},
			Came:  targets.Message{Body: []byte(body + planted + body), Binary: binary, Length: int64(len(body))},
			Error: body,
		}
		for _, address := range []string{"http://a.test", "redis://a.test"} {
			one := e
			redact.New(targets.Spec{URL: address}, []string{body[:min(len(body), 5)]}).Exchange(&one, redact.Known{})
			if bytes.Contains(one.Came.Body, []byte(planted)) {
				t.Errorf("it leaks in %q", one.Came.Body)
			}
		}
		redact.New(targets.Spec{URL: body}, nil).URL(sentBody)
	})
}

// BenchmarkExchange measures an exchange as it is sampled, and one with bodies of 64 KiB.
func BenchmarkExchange(b *testing.B) {
	r := &random{Rand: rand.New(rand.NewPCG(1, 1))}
	var doc strings.Builder
	for doc.Len() < 64<<10 {
		doc.WriteString(r.value(4, false) + "\n")
	}
	usual := strings.Repeat(`{"id":12345,"name":"Ann Example","email":"ann@example.test","total":12.5,"tags":["a","b"],"key":"v"},`+"\n", 1000)
	bodies := map[string]string{"2 KiB": usual[:2<<10], "64 KiB": usual[:64<<10], "2 KiB of secrets": doc.String()[:2<<10], "64 KiB of secrets": doc.String()[:64<<10]}
	for _, name := range []string{"2 KiB", "64 KiB", "2 KiB of secrets", "64 KiB of secrets"} {
		body := []byte(bodies[name])
		redactor := redact.New(targets.Spec{URL: "http://a.test"}, nil)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				e := targets.Exchange{
					Sent: targets.Message{Start: "POST /a?b=c HTTP/1.1", Headers: []targets.Header{{Name: "Authorization", Value: "Bearer abcdefghijklmnopqrstuvwxyz"}}, Body: []byte(`{"password":"abcdef"}`)},
					Came: targets.Message{Start: "HTTP/1.1 200 OK", Body: body, Length: 1 << 20},
				}
				redactor.Exchange(&e, redact.Known{})
			}
		})
	}
}
