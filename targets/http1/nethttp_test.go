package http1

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"testing"

	"github.com/loadctl/loadctl/targets/http1/http1test"
)

// If net/http gives another result, and only then, the table says why: the cases marked strict are strict.
func TestUnlikeNetHTTP(t *testing.T) {
	for _, c := range http1test.Cases() {
		// net/http takes the end of the data for the end of a line, and a cut answer for a malformed one. Here it is an
		// answer that did not come to its end.
		if c.Status == 0 && (c.Class == http1test.EOF || c.Class == http1test.Timeout) && !bytes.HasSuffix(c.Bytes, []byte("\n")) {
			continue
		}
		want := expected(c)
		got := readNetHTTP(c)
		got.in = want.in // it does not say
		if want.class == http1test.BodyLimit || want.class == http1test.EOF || want.class == http1test.Timeout || want.class == http1test.Protocol || want.class == http1test.HeadLimit {
			got.body = want.body // nor does it for what failed
		}
		if same := got == want; same != (c.Unlike == "") {
			t.Errorf("%s: %.150q\nnet/http %+v\nhere     %+v\nunlike: %q", c.Name, c.Bytes, got, want, c.Unlike)
		}
	}
}

// A silence is how a connection that stays open reads after its deadline.
type silence struct{}

func (silence) Read([]byte) (int, error) { return 0, os.ErrDeadlineExceeded }

// readNetHTTP reads a case with net/http.
func readNetHTTP(c http1test.Case) (e ending) {
	var source io.Reader = bytes.NewReader(c.Bytes)
	if !c.Closes {
		source = io.MultiReader(source, silence{})
	}
	limited := &io.LimitedReader{R: source, N: 64<<10 + 4096} // bytes of heads
	br := bufio.NewReader(limited)
	request := &http.Request{Method: http.MethodGet}
	if c.Head {
		request.Method = http.MethodHead
	}
	var resp *http.Response
	var err error
	for range 8 {
		//nolint:bodyclose // there is no connection to leak, and Close would read past the limit
		if resp, err = http.ReadResponse(br, request); err != nil {
			e.class = classOf(err)
			if limited.N == 0 {
				e.class = http1test.HeadLimit
			}
			return e
		}
		if resp.StatusCode >= 200 || resp.StatusCode == 101 {
			break
		}
	}
	if resp.StatusCode < 200 && resp.StatusCode != 101 {
		e.class = http1test.Protocol
		return e
	}
	e.status = resp.StatusCode
	if e.status == http.StatusSwitchingProtocols {
		return e
	}
	limited.N = 1 << 40
	limit := c.BodyLimit
	if limit == 0 {
		limit = 1 << 40
	}
	e.body, err = io.Copy(io.Discard, io.LimitReader(resp.Body, limit+1))
	if err == nil && e.body > limit {
		e.class = http1test.BodyLimit
		return e
	}
	e.class = classOf(err)
	_, more := br.Peek(1)
	e.keep = err == nil && !resp.Close && more != nil && !c.Closes
	return e
}

func classOf(err error) string {
	switch {
	case err == nil:
		return http1test.OK
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return http1test.EOF
	case errors.Is(err, os.ErrDeadlineExceeded):
		return http1test.Timeout
	}
	return http1test.Protocol
}
