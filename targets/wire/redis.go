package wire

import (
	"fmt"
	"net/url"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/reply"
	"github.com/loadctl/loadctl/targets/resp"
	"github.com/loadctl/loadctl/targets/template"
)

// checkRedis checks the spec of a redis or rediss target.
func checkRedis(s targets.Spec, u *url.URL) error {
	if err := checkAddress(u); err != nil {
		return err
	}
	if s.Reply != "" {
		return errReply
	}
	if err := checkBare(s, u.Scheme); err != nil {
		return err
	}
	if _, err := resp.Login(u); err != nil {
		return err
	}
	if _, err := bareExpectation(s); err != nil {
		return err
	}
	if err := checkTrust(s); err != nil {
		return err
	}
	text, err := s.Parser(nil)(string(s.Body), targets.SaltBody)
	if err != nil {
		return fmt.Errorf("body: %w", err)
	}
	arguments, err := resp.Split(text)
	if err == nil {
		err = resp.Check(arguments)
	}
	if err != nil {
		return fmt.Errorf("body: %w", err)
	}
	return checkRouting(s)
}

// newRedisRules returns the rules of a valid spec: one command to a Redis, over RESP2, and its reply, at
// redis://[USER:PASSWORD@]HOST[:PORT][/DB], or rediss:// with TLS. Each connection carries one command at a time.
//
// A client library would send commands again, cannot be stopped just before the first byte, and makes room for as many
// elements as a server announces.
func newRedisRules(s targets.Spec, tables targets.Tables) (rawRules, error) {
	r, u, err := newBareRules(s)
	if err != nil {
		return r, err
	}
	r.to.Use, r.answers = UseRedis, true
	if u.Scheme == "rediss" {
		r.to.Name = u.Hostname()
	}
	if r.to.Login, err = resp.Login(u); err != nil {
		return r, err
	}
	if r.expect, err = bareExpectation(s); err != nil {
		return r, err
	}
	text, err := s.Parser(tables)(string(s.Body), targets.SaltBody)
	if err != nil {
		return r, fmt.Errorf("body: %w", err)
	}
	arguments, err := resp.Split(text)
	if err != nil {
		return r, fmt.Errorf("body: %w", err)
	}
	limit, content := s.EffectiveBodyLimit(), r.expect.limits.Content
	r.newReply = func() reply.Reading { return resp.NewReading(limit, content) }
	r.pay(text.Varies(), func(b []byte, r template.Request) []byte {
		b = resp.AppendSize(b, '*', len(arguments))
		for _, a := range arguments {
			b = resp.AppendArgument(b, func(b []byte) []byte { return a.Append(b, r) })
		}
		return b
	})
	return r, nil
}
