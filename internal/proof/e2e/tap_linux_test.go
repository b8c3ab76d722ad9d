package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A tap is a proxy that notes what passes between clients and a server, and when. Its readings come from net/http,
// encoding/json and a few lines here: nothing of ours reads these answers.
type tap struct {
	address string
	mu      sync.Mutex // guards what follows
	lines   []*tappedLine
}

// A tappedLine is a connection.
type tappedLine struct {
	mu              sync.Mutex // guards what follows
	asked, answered []passed
}

// A passed piece is what one read had. It is noted before it is passed on.
type passed struct {
	at   time.Time
	text []byte
}

// newTap starts a proxy to a server, which ends with the test.
func newTap(t *testing.T, server string) *tap {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	p := &tap{address: listener.Addr().String()}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go p.pass(client, server)
		}
	}()
	return p
}

// pass joins a client with the server until one of them ends.
func (p *tap) pass(client net.Conn, server string) {
	defer client.Close()
	to, err := net.Dial("tcp", server)
	if err != nil {
		return
	}
	defer to.Close()
	l := &tappedLine{}
	p.mu.Lock()
	p.lines = append(p.lines, l)
	p.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { l.copy(to, client, &l.asked) })
	both.Go(func() { l.copy(client, to, &l.answered) })
	both.Wait()
}

// copy passes what one side sends to the other, and its end.
func (l *tappedLine) copy(to, from net.Conn, notes *[]passed) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			l.mu.Lock()
			*notes = append(*notes, passed{time.Now(), bytes.Clone(buf[:n])})
			l.mu.Unlock()
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			_ = to.(*net.TCPConn).CloseWrite() // the other side may be gone
			return
		}
	}
}

// A tappedAnswer is an answer of a language model, as it passed.
type tappedAnswer struct {
	asked   time.Time   // when the request passed
	begun   time.Time   // when the first event passed, a token or not
	tokens  []time.Time // when each event with a part of the text passed
	in, out int64       // of the usage
	whole   bool
}

// answers reads all answers that passed.
func (p *tap) answers(t *testing.T) (all []tappedAnswer) {
	t.Helper()
	p.mu.Lock()
	lines := slices.Clone(p.lines)
	p.mu.Unlock()
	for _, l := range lines {
		passed, err := l.answers()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, passed...)
	}
	return all
}

// answers reads the answers that passed on the connection.
func (l *tappedLine) answers() (all []tappedAnswer, err error) {
	l.mu.Lock()
	asked, play := slices.Clone(l.asked), &replay{pieces: slices.Clone(l.answered)}
	l.mu.Unlock()
	r := bufio.NewReaderSize(play, 64<<10)
	for {
		if _, err := r.Peek(1); err != nil {
			return all, nil
		}
		a := tappedAnswer{}
		for _, piece := range asked {
			if piece.at.Before(play.at) {
				a.asked = piece.at // the last one before the answer
			}
		}
		response, err := http.ReadResponse(r, nil)
		if err != nil {
			return nil, err
		}
		err = a.read(response.Body, play)
		_ = response.Body.Close() // there is no connection
		if err != nil {
			return nil, err
		}
		all = append(all, a)
	}
}

// A replay gives the pieces again, one a read, and knows when the last one passed.
type replay struct {
	pieces []passed
	at     time.Time
}

func (r *replay) Read(p []byte) (int, error) {
	if len(r.pieces) == 0 {
		return 0, io.EOF
	}
	r.at = r.pieces[0].at
	n := copy(p, r.pieces[0].text)
	if r.pieces[0].text = r.pieces[0].text[n:]; len(r.pieces[0].text) == 0 {
		r.pieces = r.pieces[1:]
	}
	return n, nil
}

// read reads an answer byte by byte: no event gets the time of a byte that comes later.
func (a *tappedAnswer) read(body io.Reader, play *replay) error {
	var block []byte
	for one := make([]byte, 1); ; {
		if _, err := io.ReadFull(body, one); err != nil {
			return nil // its last event says whether it is whole
		}
		if block = append(block, one[0]); !bytes.HasSuffix(block, []byte("\n\n")) {
			continue
		}
		for line := range strings.Lines(string(block)) {
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				if err := a.take(strings.TrimSpace(data), play.at); err != nil {
					return err
				}
			}
		}
		block = block[:0]
	}
}

// take takes an event.
func (a *tappedAnswer) take(data string, at time.Time) error {
	if data == "[DONE]" {
		a.whole = true
		return nil
	}
	type usage struct {
		Prompt     int64 `json:"prompt_tokens"`
		Completion int64 `json:"completion_tokens"`
		Input      int64 `json:"input_tokens"`
		Output     int64 `json:"output_tokens"`
	}
	var e struct {
		Type    string
		Delta   string // of responses
		Choices []struct {
			Delta struct {
				Content   string
				Reasoning string            `json:"reasoning_content"`
				Calls     []json.RawMessage `json:"tool_calls"`
			}
		}
		Usage    usage
		Response struct{ Usage usage }
	}
	if err := json.Unmarshal([]byte(data), &e); err != nil {
		return err
	}
	if a.begun.IsZero() {
		a.begun = at
	}
	token := e.Delta != ""
	for _, c := range e.Choices {
		token = token || c.Delta.Content+c.Delta.Reasoning != "" || len(c.Delta.Calls) > 0
	}
	if token {
		a.tokens = append(a.tokens, at)
	}
	for _, u := range []usage{e.Usage, e.Response.Usage} {
		a.in += u.Prompt + u.Input
		a.out += u.Completion + u.Output
	}
	a.whole = a.whole || e.Type == "response.completed"
	return nil
}
