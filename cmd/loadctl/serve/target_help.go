package serve

import (
	"fmt"

	"github.com/loadctl/loadctl/internal/server/arrivals"
	"github.com/loadctl/loadctl/internal/server/seen"
)

// targetHelp is the help of the command target.
func targetHelp() string {
	return fmt.Sprintf(`Answer every request and count when it arrived, to check what a test says it sent. No Redis is
needed. It may serve for days: it remembers the arrivals of the last 10s. It speaks HTTP/1.1 and
HTTP/2, each connection as it begins.

As text it prints a line for each second in which requests arrived; seconds count from the first
arrival. At the end it prints how many arrived, their mean rate between the first and the last, and
the most in any 1ms, 10ms, 100ms, 1s and 10s. A rate of R has at most R·W + 1 arrivals in any window
W, or R·(W + L) + 1 if requests come up to L late. In JSON a long run has the counts of its last
%d seconds.

With --capacity N it is a server of known capacity, to try out search and overload. It serves N
requests at the same time, each for --service-time; the others wait in one queue, first come, first
served. So it answers at most N/--service-time requests per second (8 and 10ms: 800/s). If %d
others are waiting, a request is answered 503 at once. --latency and --jitter come on top.

With --route some requests get answers of their own. PATTERN is a path with or without a method, as
in "GET /items/{id}": {id} is any text between slashes, and /* at the end is all below. The
narrowest pattern counts. SETTINGS are latency=50ms, jitter=10ms, status=503, stall=10s:2s (as
--stall, may be repeated) and body=TEXT, which comes last and may have commas. A route's latency and
stalls come on top of those of the server, and hold back its own answers only. For each route it
prints how many requests came, how many answers had which status, and how long they took: from the
first byte of the request to the end of the answer.

With --tcp, --udp or --ws it is an echo that counts lines, datagrams or messages instead of HTTP
requests.
With --grpc it counts calls of loadctl.Echo: Say, Repeat, Collect and Talk, a method for each kind
of stream; of Collect and Talk it counts messages. The field code of a message asks for a status.

With --shop it serves:
  POST /login       {"user": NAME} gives {"token": T} and the cookie session
  GET /items        a list, and GET /items/{id} one of it: {"id": ID, "price": N}
  GET, POST /cart   with Authorization: Bearer T of a login, or its cookie, else 401; if the body
                    names another user, 403. Answers {"user": NAME, "total": N}, by the price of
                    {"item": ID}
  POST /pay         as /cart, with an Idempotency-Key: 400 without one, 409 if it came before
  GET /logout       ends the session of the token or the cookie
  /echo             method, path, query, headers and body of the request
A --route with a pattern of the shop, such as 'POST /pay=latency=200ms', changes that route.

With --sse each request gets a stream of events at a pace: the first after first=, the others after
gap= each, at random within ±. stall=N:2s holds event N back for 2s. form=lines sends lines of JSON,
form=chunks a chunk or DATA frame each. With --openai POST /v1/chat/completions, /v1/completions and
/v1/responses answer as the API of OpenAI does: "stream", "stream_options" and "max_tokens" count.
It prints what it knows of these streams: how many, and the times of their events.

--unique tells whether data was used once: it prints how many different values came, and how many of
them more than once ("values 1000, twice 0"). It keeps %d values in at most 134 MB.

See docs/target.md for examples. It ends after --for, or by Ctrl-C or SIGTERM, with exit code 0.

Other machines cannot reach 127.0.0.1. With any other address, all who can reach this machine can
send requests. :8080 means all addresses of this machine.`, arrivals.KeptSeconds, arrivals.QueueLimit, seen.Most)
}

// targetExamples are examples of the command target.
const targetExamples = "  loadctl target --for 1m\n  loadctl target --latency 5ms --jitter 2ms --error-share 0.01 --stall 10s:2s -o json\n  loadctl target --capacity 8 --service-time 10ms\n" +
	"  loadctl target --shop --route 'POST /pay=latency=200ms' --unique 'json user'\n" +
	"  loadctl target --openai 'first=200ms,tokens=50,gap=20ms±5ms' --event-log events.jsonl"
