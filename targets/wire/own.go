package wire

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/check"
	"github.com/loadctl/loadctl/targets/classes"
	"github.com/loadctl/loadctl/targets/template"
)

// own is what a request of a scheme is that is not ours, and how its answer is judged. It changes only while the Wire is made.
type own struct {
	scheme  targets.Scheme
	sender  targets.Sender
	to      Endpoint
	method  string
	url     template.Text
	headers []targets.Header // with the values as they were written
	values  []template.Text
	body    template.Text
	expect  expectation
	limit   int64
}

// checkOwn checks the spec of a scheme that is not ours. What only that knows it checks itself.
func checkOwn(s targets.Spec, u *url.URL) error {
	k, _, err := s.ParseURL()
	switch {
	case err != nil:
		return err
	case u.Opaque != "" || k.Port != "" && (u.Hostname() == "" || k.Port == targets.NoPort && u.Port() == ""):
		return fmt.Errorf("url: names no host and port; write %s://HOST:PORT", u.Scheme)
	case s.Reply != "":
		return errReply
	case k.Bare && s.Method != "":
		return fmt.Errorf("method: %s has none; leave it out", u.Scheme)
	case k.Bare && len(s.Headers) > 0:
		return fmt.Errorf("header: %s has none; leave them out", u.Scheme)
	case s.Expect != "":
		return fmt.Errorf("expect: %s says itself which statuses are good; leave it out", u.Scheme)
	}
	if err := targets.CheckHeaders(s.Headers); err != nil {
		return err
	}
	if _, err := bareExpectation(s); err != nil {
		return err
	}
	for _, err := range []error{checkLimits(s), checkRouting(s), checkTrust(s)} {
		if err != nil {
			return err
		}
	}
	if k.Check == nil {
		return nil
	}
	return k.Check(s)
}

// useOwn makes the Wire one of a scheme that is not ours. New opens its Sender.
func (w *Wire) useOwn(s targets.Spec, u *url.URL, local targets.Local) (err error) {
	o := &own{method: s.Method, headers: s.Headers, limit: s.EffectiveBodyLimit()}
	if o.scheme, _, err = s.ParseURL(); err != nil {
		return err
	}
	if o.scheme.Port != "" {
		routes, err := targets.ParseRoutes(s.ConnectTo)
		if err != nil {
			return err
		}
		o.to.Network, o.to.Address = "tcp", routes.Apply(u.Hostname(), cmp.Or(u.Port(), o.scheme.Port))
		if s.UnixSocket != "" {
			o.to.Network, o.to.Address = "unix", s.UnixSocket
		}
	}
	o.to.Use = o.scheme.Name
	if o.expect, err = bareExpectation(s); err != nil {
		return err
	}
	parse := s.Parser(local.Tables)
	if o.url, err = parse(s.URL, targets.SaltURL); err != nil {
		return fmt.Errorf("url: %w", err)
	}
	for i, h := range s.Headers {
		value, err := parse(h.Value, targets.SaltHeaders+uint64(i))
		if err != nil {
			return fmt.Errorf("header %s: %w", h.Name, err)
		}
		o.values = append(o.values, value)
	}
	if o.body, err = parse(string(s.Body), targets.SaltBody); err != nil {
		return fmt.Errorf("body: %w", err)
	}
	w.own, w.Network, w.Address = o, o.to.Network, o.to.Address
	return nil
}

// openSenders opens a Sender for each scheme of the steps that is not ours.
func (w *Wire) openSenders(s targets.Spec, local targets.Local) error {
	opened := map[string]targets.Sender{}
	for _, one := range w.Steps() {
		if one.own == nil {
			continue
		}
		k, err := one.own.scheme, one.Lacks()
		if err == nil && opened[k.Name] == nil {
			if opened[k.Name], err = k.Open(s, local); err != nil {
				err = fmt.Errorf("open %s: %w", k.Name, err)
			}
		}
		if err != nil {
			w.Shut()
			return err
		}
		one.own.sender = opened[k.Name]
	}
	return nil
}

// Shut closes the Senders that New has opened. A Wire without such is not changed.
func (w *Wire) Shut() {
	for _, one := range w.Steps() {
		if one.own != nil && one.own.sender != nil {
			_ = one.own.sender.Close() // nothing can be done about it
		}
	}
}

// Own reports whether requests are of a scheme that is not ours: they use no connection of an engine, and Do performs them.
func (w *Wire) Own() bool { return w.own != nil }

// Connects reports whether requests use connections of an engine.
func (w *Wire) Connects() bool { return !w.rests && w.own == nil }

// Lacks says that the program has not what performs the Wire's requests; nil = it has.
func (w *Wire) Lacks() error {
	if w.own == nil || w.own.scheme.Open != nil {
		return nil
	}
	return fmt.Errorf("the run needs the scheme %.80s, which this program does not have; use the program that does: see docs/extend.md", w.own.scheme)
}

// Reach asks a scheme that is not ours whether the server of the Wire's step can be reached. known is false if it cannot say.
func (w *Wire) Reach(ctx context.Context, s targets.Spec, local targets.Local) (known bool, err error) {
	if w.own.scheme.Reach == nil {
		return false, nil
	}
	defer func() {
		if p := recover(); p != nil {
			known, err = true, fmt.Errorf("reach: panic: %.200v", p)
		}
	}()
	return true, w.own.scheme.Reach(ctx, w.Asked(targets.Call{}), s, local)
}

// Asked returns the request for a call of the Wire's step. Any number of goroutines may call it.
func (w *Wire) Asked(c targets.Call) targets.Request {
	o, fill := w.own, w.filler.request(c)
	r := targets.Request{
		Number: c.Number, Step: c.Step, Network: o.to.Network, Address: o.to.Address, Method: o.method, Headers: o.headers,
		URL: string(o.url.Append(nil, fill)),
	}
	if len(o.values) > 0 {
		r.Headers = slices.Clone(o.headers)
		for i, v := range o.values {
			r.Headers[i].Value = string(v.Append(nil, fill))
		}
	}
	r.Body = o.body.Append(nil, fill)
	return r
}

// Do performs a request. A panic of the Sender is an answer too.
func (w *Wire) Do(ctx context.Context, r targets.Request) (a targets.Answer) {
	defer func() {
		if p := recover(); p != nil {
			a = targets.Answer{Outcome: targets.Outcome{Class: targets.ClassPanic}, Err: fmt.Errorf("panic: %.200v", p)}
		}
	}()
	if w.Halted() {
		return targets.Answer{Err: context.Canceled}
	}
	return w.own.sender.Do(ctx, r)
}

// An Asked is a request of a scheme that is not ours, with what became of it. It is the check.Answer of one that ended.
type Asked struct {
	Request targets.Request
	Answer  targets.Answer
}

// Status implements check.Answer: no check looks at it.
func (a *Asked) Status() int { return 0 }

// Content implements check.Answer.
func (a *Asked) Content() []byte { return a.Answer.Body[:min(len(a.Answer.Body), check.Most)] }

// Length implements check.Answer.
func (a *Asked) Length() int64 { return int64(len(a.Answer.Body)) }

// Field implements check.Answer: there are no headers.
func (a *Asked) Field(string) []string { return nil }

// outcome is Wire.Outcome. What a Sender returns is kept within what reports can hold.
func (o *own) outcome(a *Asked, err error, failed func() string) targets.Outcome {
	out := a.Answer.Outcome
	out.BytesIn, out.BytesOut, out.Messages = max(0, out.BytesIn), max(0, out.BytesOut), max(0, out.Messages)
	if out.Status < 200 || out.Status > 999 {
		out.Status = 0
	}
	switch kind, _, _ := strings.Cut(out.Class, " "); {
	case err != nil && a.Answer.Err == nil: // the engine's: the request took too long, or was canceled
		out.Class = classes.Of(err, targets.ClassOther)
	case out.Class != "" && (!slices.Contains(targets.Classes(), kind) || len(out.Class) > 64 || !printable(out.Class)):
		out.Class = targets.ClassOther
	case out.Class != "":
	case err != nil:
		out.Class = classes.Of(err, targets.ClassOther)
	case a.Length() > o.limit:
		out.Class = targets.ClassBodyLimit
	default:
		out.Class = failed()
	}
	return out
}

// printable reports whether a class is printable ASCII.
func printable(class string) bool {
	return !strings.ContainsFunc(class, func(r rune) bool { return r < ' ' || r > '~' })
}

// exchange is Wire.Exchange.
func (o *own) exchange(e *targets.Exchange, seen Seen, body int) {
	a, ok := seen.Answer.(*Asked)
	if !ok {
		return
	}
	e.Sent.Start, e.Sent.Headers = targets.RedactURL(a.Request.URL), a.Request.Headers
	show(&e.Sent, a.Request.Body, body)
	show(&e.Came, a.Answer.Body, body)
	if seen.Err == nil && a.Answer.Class == "" {
		e.Checks = o.expect.verdicts(seen)
	}
}
