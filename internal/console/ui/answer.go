package ui

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/ledger"
	"github.com/loadctl/loadctl/internal/fleet/link"
	"github.com/loadctl/loadctl/internal/fleet/orders"
	"github.com/loadctl/loadctl/internal/fleet/removal"
	"github.com/loadctl/loadctl/internal/fleet/rights"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/internal/output/printable"
)

// A failure is the answer to a request that cannot be served.
type failure struct {
	Error string `json:"error"` // one line that says what to do
}

// mostError bounds the characters of an error.
const mostError = 1000

// oneLine returns an error as one line.
func oneLine(err error) string {
	return printable.Clip(strings.ReplaceAll(link.Advise(err).Error(), "\n", "; "), mostError)
}

// refuse answers with an error.
func refuse(w http.ResponseWriter, status int, why string) {
	text, err := encode(failure{why})
	if err != nil {
		text = []byte(`{"error":"the error cannot be encoded"}`)
	}
	send(w, status, text)
}

// answer answers with JSON.
func answer(w http.ResponseWriter, v any) {
	text, err := encode(v)
	if err != nil {
		refuse(w, http.StatusServiceUnavailable, oneLine(err))
		return
	}
	send(w, http.StatusOK, text)
}

// send writes an answer that took as long as it needed.
func send(w http.ResponseWriter, status int, text []byte) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writePatience))
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(slices.Clip(text), '\n')) // the client may have gone
}

// errBad marks an error in the request itself.
var errBad = errors.New("the request is wrong")

// fail answers with an error of a run.
func fail(w http.ResponseWriter, err error) { refuse(w, status(err), oneLine(err)) }

// status returns the status of an error.
func status(err error) int {
	if rights.Refused(err) {
		return http.StatusConflict
	}
	conflicts := []error{run.ErrOver, run.ErrWaiting, run.ErrNoRate, run.ErrNoConcurrency, removal.ErrAlive, orders.ErrLeave, spec.ErrLimiter, spec.ErrBroken, spec.ErrNewer, spec.ErrOlder,
		ledger.ErrFull, ledger.ErrChanged}
	for _, conflict := range conflicts {
		if errors.Is(err, conflict) {
			return http.StatusConflict
		}
	}
	switch {
	case errors.Is(err, run.ErrNoRun), errors.Is(err, removal.ErrNoWorker), errors.Is(err, errNoArchive):
		return http.StatusNotFound
	case errors.Is(err, errBad):
		return http.StatusBadRequest
	default:
		return http.StatusServiceUnavailable
	}
}

// bad marks an error as one of the request.
func bad(err error) error { return badRequest{err} }

type badRequest struct{ error }

// Is makes errors.Is find errBad.
func (badRequest) Is(target error) bool { return target == errBad }

// Unwrap returns what is wrong.
func (b badRequest) Unwrap() error { return b.error }

// readBody reads the JSON of a command. The errors say what is wrong.
func readBody(w http.ResponseWriter, r *http.Request, to any) (status int, why string) {
	if kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); strings.TrimSpace(strings.ToLower(kind)) != "application/json" {
		return http.StatusUnsupportedMediaType, "send the command as JSON, with Content-Type: application/json"
	}
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, mostBody))
	d.DisallowUnknownFields()
	err := d.Decode(to)
	if err == nil && d.More() {
		err = errors.New("there is more than one value")
	}
	switch _, large := errors.AsType[*http.MaxBytesError](err); {
	case large:
		return http.StatusRequestEntityTooLarge, "the command is too large; send at most 4096 bytes"
	case mistyped(err) != "":
		return http.StatusBadRequest, mistyped(err)
	case err != nil:
		return http.StatusBadRequest, "the command cannot be read: " + printable.Clip(err.Error(), 200)
	}
	return 0, ""
}

// mistyped says which field of a command has a value of another kind than text; "" if that is not what is wrong.
func mistyped(err error) string {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" && wrong.Type.Kind() == reflect.String {
		return fmt.Sprintf("%s: is a %s; give text in quotes, such as \"600\"", printable.Clip(wrong.Field, 50), wrong.Value)
	}
	return ""
}

// cached keeps what load returns for a moment, so that many pages cost Redis as much as one.
type cached[T any] struct {
	load func(context.Context) (T, error)
	keep time.Duration // 0 = fresh

	mu    sync.Mutex
	value T
	err   error
	until time.Time
}

// fresh is how long a cached value is used, if nothing else is said.
const fresh = time.Second

// get returns the value. All callers of a moment share one load.
func (c *cached[T]) get(ctx context.Context) (T, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Now().Before(c.until) {
		return c.value, c.err
	}
	// The load is for all: it does not end with the request that happened to be first.
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookPatience)
	defer cancel()
	c.value, c.err = c.load(limit)
	c.until = time.Now().Add(cmp.Or(c.keep, fresh))
	return c.value, c.err
}

// forget makes the next get load again: a command has changed what is kept.
func (c *cached[T]) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.until = time.Time{}
}
