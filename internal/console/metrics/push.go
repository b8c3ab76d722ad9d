package metrics

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// A Push sends metrics to a receiver by OTLP over HTTP, until it is stopped. Make it with [NewPush].
//
//	p, err := metrics.NewPush(os.Getenv, version) // nil without OTEL_EXPORTER_OTLP_ENDPOINT
//	last := p.Start(metrics.Of(r), nil)
//	…
//	err = last()
//
// All counters count from the start of the run, so what one push could not deliver is in the next one.
type Push struct {
	to             *url.URL
	header         http.Header
	attributes     map[string]string // of the resource
	every, timeout time.Duration
	version        string
	memory         Memory

	pushes, failures int
	failure          error // the newest
}

// lastPush bounds the last push, with its repetitions.
const lastPush = 3 * time.Second

// Start begins to push what a source knows. last pushes once more and ends that: it takes at most some three seconds.
// It returns an error if any push has failed. trouble, if not nil, is called with each failure that follows a success,
// from another goroutine. The methods of a nil Push do nothing.
func (p *Push) Start(source Source, trouble func(error)) (last func() error) {
	if p == nil {
		return func() error { return nil }
	}
	ctx, stop := context.WithCancel(context.Background())
	looped := make(chan struct{})
	go func() {
		defer close(looped)
		tick := time.NewTicker(p.every)
		defer tick.Stop()
		for well := true; ; {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				err := p.push(ctx, source, p.timeout)
				if err != nil && well && trouble != nil && ctx.Err() == nil {
					trouble(p.explain(err))
				}
				well = err == nil
			}
		}
	}()
	return func() error {
		stop()
		ended := make(chan error, 1)
		go func() {
			<-looped
			ended <- p.finish(source)
		}()
		select {
		case err := <-ended:
			return err
		case <-time.After(lastPush + 500*time.Millisecond): // Redis hangs, and a call to it does not obey
			return p.explain(errors.New("Redis does not answer")) //nolint:staticcheck // a name begins it
		}
	}
}

// finish pushes the last time, and returns the failure of the newest push that failed.
func (p *Push) finish(source Source) error {
	last := p.push(context.Background(), source, min(lastPush, p.timeout))
	if p.failure == nil {
		return nil
	}
	if last == nil {
		return p.explain(fmt.Errorf("%d of %d pushes failed, not the last one: %w", p.failures, p.pushes, p.failure))
	}
	return p.explain(fmt.Errorf("%d of %d pushes failed, the last one too: %w", p.failures, p.pushes, last))
}

// explain adds where the push goes. The address may contain secrets, so it is only the host.
func (p *Push) explain(err error) error {
	return fmt.Errorf("push metrics to %s: %w; check OTEL_EXPORTER_OTLP_ENDPOINT and its receiver", p.to.Host, err)
}

// push reads the source and sends what it says.
func (p *Push) push(ctx context.Context, source Source, limit time.Duration) error {
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	looks, err := source(within)
	at := time.Now()
	all := p.memory.Read(looks, err, at)
	body, err := encode(all, p.attributes, p.version, at)
	if err == nil {
		err = p.send(within, body)
	}
	if ctx.Err() != nil {
		return nil // the last push is next
	}
	p.pushes++
	if err != nil {
		p.failures++
		p.failure = err
	}
	return err
}

// send posts a body until the receiver takes it, refuses it for good, or ctx ends.
func (p *Push) send(ctx context.Context, body []byte) error {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(body); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	for pause := 500 * time.Millisecond; ; pause *= 2 {
		wait, err := p.post(ctx, packed.Bytes())
		if err == nil || wait < 0 || ctx.Err() != nil {
			return err
		}
		wait = cmp.Or(wait, pause)
		if end, ok := ctx.Deadline(); ok && time.Until(end) < wait {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return err
		}
	}
}

// never says that a repetition would not help.
const never = time.Duration(-1)

// post makes one attempt. After an error wait is how long the receiver wants to be left alone: 0 = it did not say.
func (p *Push) post(ctx context.Context, packed []byte) (wait time.Duration, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.to.String(), bytes.NewReader(packed))
	if err != nil {
		return never, errors.New("the address is wrong")
	}
	request.Header = p.header.Clone()
	request.Header.Set("Content-Type", "application/x-protobuf")
	request.Header.Set("Content-Encoding", "gzip")
	request.Header.Set("User-Agent", "loadctl/"+p.version)
	// A redirect would take the headers, which may be secrets, to another host.
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(request)
	if err != nil {
		if failed, ok := errors.AsType[*url.Error](err); ok {
			err = failed.Err // without the address
		}
		return 0, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 64<<10))
	switch answer.StatusCode {
	case http.StatusOK, http.StatusAccepted, http.StatusNoContent:
		if err != nil {
			return never, nil // the receiver has taken it
		}
		return never, partly(text)
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return retryAfter(answer.Header.Get("Retry-After")), fmt.Errorf("it answered %d", answer.StatusCode)
	default:
		return never, fmt.Errorf("it answered %d", answer.StatusCode)
	}
}

// retryAfter reads the header: seconds, or a time. 0 = it says nothing.
func retryAfter(text string) time.Duration {
	if s, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(s) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}

// partly reads how many samples the receiver has refused: field 1 of field 1 of its answer.
func partly(answer []byte) error {
	refused, _ := protowire.ConsumeVarint(field(field(answer, 1), 1))
	if refused > 0 {
		return fmt.Errorf("it refused %d samples", refused)
	}
	return nil
}

// field returns the value of a field of a message, as bytes; nil if it is not there.
func field(message []byte, number protowire.Number) []byte {
	for len(message) > 0 {
		num, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return nil
		}
		size := protowire.ConsumeFieldValue(num, kind, message[n:])
		if size < 0 {
			return nil
		}
		value := message[n : n+size]
		if num == number && kind == protowire.BytesType {
			value, _ = protowire.ConsumeBytes(value)
		}
		if num == number {
			return value
		}
		message = message[n+size:]
	}
	return nil
}
