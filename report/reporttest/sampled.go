package reporttest

import (
	"strconv"
	"time"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/samples"
)

// Sampled returns an input with requests as evidence: two that failed, of which one got no answer, a slow one, and one of which
// only the times were kept.
func Sampled(in report.Input) report.Input {
	const ms = 1_000_000
	at := func(ms int) time.Time { return in.StartedAt.Add(time.Duration(ms) * time.Millisecond) }
	connection := samples.Connection{Number: 7, Reused: true, Age: 900 * ms, Remote: "127.0.0.1:8080"}
	request := func(body string) *samples.Message {
		return &samples.Message{
			Start: "POST /pay?a=1&b=%20x HTTP/1.1", Body: body, Length: int64(len(body)), Secrets: true,
			Headers: []samples.Header{{Name: "Host", Value: "127.0.0.1:8080"}, {Name: "Authorization", Value: "[redacted]"},
				{Name: "Content-Type", Value: "application/json"}, {Name: "Content-Length", Value: strconv.Itoa(len(body))}, {Name: "Cookie", Value: "theme=dark; lang=en"}},
		}
	}
	const url = "http://127.0.0.1:8080/pay?a=1&b=%20x"
	in.Samples = samples.Merge(samples.Set{Samples: []samples.Sample{
		{
			Ordinal: 100, Worker: "host-1", Class: "status", Status: "503", Due: at(500), Lag: ms / 50, FirstByte: 3 * ms, Service: 4 * ms, Latency: 4*ms + ms/50,
			BytesIn: 180, BytesOut: 210, Connection: connection, URL: url, Request: request(`{"a":1}`), TraceID: "4bf92f3577b34da6a3ce929d0e0e4736",
			Response: &samples.Message{
				Start: "HTTP/1.1 503 Service Unavailable", Headers: []samples.Header{{Name: "Content-Type", Value: "text/plain"}, {Name: "Set-Cookie", Value: "seen=1; Path=/pay"}, {Name: "Retry-After", Value: "1"}},
				Body: "overloaded:\nqueue is full\x1b[2J\n", Length: 9_000, Cut: true,
			},
			Checks: []samples.Check{{Check: "status<500", Got: "503"}, {Check: "type == text/plain", Passed: true}},
		},
		{
			Ordinal: 251, Worker: "host-2", Class: "timeout", Error: "no answer within 2s", Due: at(1_250), Service: 2_000 * ms, Latency: 2_000 * ms,
			BytesOut: 210, Connection: samples.Connection{Number: 8}, URL: url, Request: request("it's 100 %"),
		},
		{
			Ordinal: 330, Worker: "host-1", Status: "200", Due: at(1_650), FirstByte: 30 * ms, Service: 40 * ms, Latency: 40 * ms,
			BytesIn: 1_500, BytesOut: 120, Connection: connection, URL: url, Request: request(""),
			Response: &samples.Message{Start: "HTTP/1.1 200 OK", Headers: []samples.Header{{Name: "Content-Type", Value: "image/png"}}, Body: "89504e470d0a1a0a", Hex: true, Length: 1_400, Cut: true},
		},
		{Ordinal: 331, Worker: "host-2", Status: "200", Due: at(1_655), FirstByte: 31 * ms, Service: 39 * ms, Latency: 39 * ms},
	}})
	return in
}
