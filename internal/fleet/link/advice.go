package link

import (
	"errors"
	"io"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/mux"
)

// advice is what to do about a refusal of Redis.
type advice struct {
	word string // part of the server's answer: some servers put their own words in front
	mend string
	url  bool // the URL must change: address, user or password
}

// outOfMemory is part of the answer of a server whose memory is full.
const outOfMemory = "OOM command"

// advices returns the known refusals. The first that fits counts.
func advices() []advice {
	return []advice{
		{word: "WRONGPASS", mend: "its user or password is wrong: put the right one into the URL, redis://user:password@host:port", url: true},
		{word: "without any password configured", mend: "it has no password: leave the password out of the URL", url: true},
		{word: "NOAUTH", mend: "its password is missing: put it into the URL, redis://:PASSWORD@host:port", url: true},
		{word: "NOPERM", mend: "this user may not do that: loadctl doctor shows what is missing", url: true},
		{word: "user executing the script can't", mend: "this user may not do that: loadctl doctor shows what is missing", url: true},
		{word: "DENIED ", mend: "the server serves only its own machine: give it a password", url: true},
		{word: "READONLY ", mend: "the server is a read-only replica: give the address of its master", url: true},
		{word: "MOVED ", mend: "the server is one of a cluster: name another of its nodes in the URL too, redis://host:port?addr=host:port", url: true},
		{word: "cluster support disabled", mend: "the server is not of a cluster: leave ?addr= out of the URL", url: true},
		{word: "SELECT is not allowed in cluster mode", mend: "a cluster has only database 0: leave the number out of the URL", url: true},
		{word: "CLUSTERDOWN", mend: "a part of the cluster is missing: redis-cli cluster info tells more"},
		{word: "MASTERDOWN", mend: "the server is a replica that has lost its master: give the address of the master", url: true},
		{word: "NOREPLICAS", mend: "bring its replicas back, or lower its min-replicas-to-write"},
		{word: outOfMemory, mend: "the server's memory is full: raise its maxmemory (CONFIG SET maxmemory BYTES), or remove ended runs with loadctl rm; " +
			"redis-cli --bigkeys shows what else takes room"},
		{word: "MISCONF", mend: "the server cannot write to its disk: see its log"},
		{word: "LOADING ", mend: "the server is still reading its data: wait a moment and try again"},
		{word: "TRYAGAIN", mend: "a part of the cluster is being moved: wait a moment"},
		{word: "BUSY ", mend: "a script of somebody else blocks the server: wait, or end it with redis-cli script kill"},
		{word: "EXECABORT", mend: "the server refuses a part of the call: loadctl doctor shows which"},
		{word: "max number of clients", mend: "raise its maxclients, or end other clients"},
		{word: "WRONGTYPE", mend: "a key of loadctl's holds something else: take another database of the server, redis://host:port/1"},
		{word: "nknown command", mend: "the server lacks what loadctl needs: take Redis 6.2 or newer", url: true},
		{word: "nknown Redis command", mend: "the server lacks what loadctl needs: take Redis 6.2 or newer", url: true},
	}
}

// refusal is an error of Redis with what to do about it.
type refusal struct {
	error
	advice advice
}

func (e refusal) Error() string {
	return strings.TrimSuffix(e.error.Error(), ".") + "; " + e.advice.mend
}
func (e refusal) Unwrap() error { return e.error }

// Advise adds to a known refusal of Redis what to do about it, unless the error says so already. The server's own
// words stay. nil stays nil.
func Advise(err error) error {
	if _, advised := errors.AsType[refusal](err); advised {
		return err
	}
	if a, known := adviceOn(err); known {
		return refusal{err, a}
	}
	return err
}

// adviceOn returns what is known about an error.
func adviceOn(err error) (advice, bool) {
	var answer error
	if reply, refused := errors.AsType[redis.Error](err); refused {
		answer = reply
	} else if errors.Is(err, mux.ErrRefused) {
		answer = err
	}
	for _, a := range advices() {
		if answer != nil && strings.Contains(answer.Error(), a.word) {
			return a, true
		}
	}
	return advice{}, false
}

// Remedy splits what Advise has joined: what is wrong, and what to do about it, "" if that is unknown.
func Remedy(err error) (wrong, mend string) {
	a, _ := adviceOn(err)
	if r, is := errors.AsType[refusal](err); is {
		a = r.advice
	}
	return strings.TrimSuffix(err.Error(), "; "+a.mend), a.mend
}

// MemoryAdvice returns what to free if an error says that the server's memory is full; else "".
func MemoryAdvice(err error) string {
	if a, known := adviceOn(err); known && a.word == outOfMemory {
		return a.mend
	}
	return ""
}

// WrongURL reports whether an error is a refusal of Redis that another URL avoids: address, user or password.
func WrongURL(err error) bool {
	e, ok := errors.AsType[refusal](Advise(err))
	return ok && e.advice.url
}

// Unanswered reports whether an error is about the connection to Redis: the server did not answer.
func Unanswered(err error) bool {
	_, network := errors.AsType[net.Error](err)
	return network || errors.Is(err, io.EOF)
}
