package reporttest

import (
	"fmt"
	"strconv"
	"time"

	"github.com/loadctl/loadctl/report/samples"
)

// TraceURL is where the traces of Samples are.
const TraceURL = "https://traces.example/explore?id=${trace_id}&org=1"

// Hostile is a text that tries to be HTML, to steer a terminal, to turn other text around, and to hide.
const Hostile = "<img src=x onerror=alert(1)>\"'</pre></script><script>alert(1)</script><!--\x00\x1b[2J\u202egpj.exe\u200b\u2028end"

// Samples returns twelve requests of two steps: failed ones of five classes, three slow ones, of which one has only its
// times, and a good one. The texts of one are hostile, and a body is no text.
func Samples() []samples.Sample {
	const ms = 1_000_000
	all := []samples.Sample{
		failed(7, "login", "status", 503, 14*ms, samples.First, samples.Random),
		failed(31, "login", "status", 500, 11*ms, samples.First),
		failed(40, "pay", "status", 503, 9*ms, samples.First, samples.Random),
		failed(52, "pay", "check", 200, 21*ms, samples.First),
		failed(77, "login", "check", 200, 22*ms, samples.Random),
		failed(101, "pay", "timeout", 0, 2_000*ms, samples.First, samples.Slow),
		failed(140, "pay", "reset", 0, 4*ms, samples.First),
		hostile(failed(205, "login", "protocol", 0, 3*ms, samples.First)),
		sample(300, "pay", 200, 1_900*ms, samples.Slow),
		sample(412, "login", 200, 700*ms, samples.Slow),
		sample(555, "login", 200, 650*ms, samples.Slow),
		sample(601, "pay", 200, 8*ms, samples.Good),
	}
	all[9].Response.Body, all[9].Response.Hex = "1f8b0800000000000003cbcf070011d9f00c02000000", true
	all[10].Request, all[10].Response, all[10].Checks = nil, nil, nil
	return all
}

// answered returns a status as samples have it.
func answered(status int) string {
	if status == 0 {
		return ""
	}
	return strconv.Itoa(status)
}

// sample is a request that went well.
func sample(ordinal uint64, step string, status int, latency int64, why ...string) samples.Sample {
	const lag = 40_000
	id := fmt.Sprintf("%032x", ordinal*0x9e3779b97f4a7c15)
	return samples.Sample{
		Ordinal: ordinal, Worker: fmt.Sprintf("host-%d", 1+ordinal%2), Step: step, Flow: "buy", Why: why, Status: answered(status),
		Due: time.Date(2026, 1, 2, 3, 4, 5, 678_900_000, time.UTC).Add(time.Duration(ordinal) * 5 * time.Millisecond),
		Lag: lag, FirstByte: latency / 2, Service: latency - lag, Latency: latency, BytesIn: 1_500, BytesOut: 120,
		Connection: samples.Connection{Number: int64(1 + ordinal%5), Reused: ordinal > 100, Age: int64(ordinal) * 5_000_000, Remote: "192.0.2.7:8080"},
		Request: &samples.Message{Start: "POST /" + step + "?token=[redacted] HTTP/1.1", Body: `{"card":"[redacted]"}`, Length: 21, Secrets: true,
			Headers: []samples.Header{{Name: "Host", Value: "127.0.0.1:8080"}, {Name: "Content-Type", Value: "application/json"}, {Name: "Authorization", Value: "[redacted]"}}},
		Response: &samples.Message{Start: fmt.Sprintf("HTTP/1.1 %d", status), Body: "{\n  \"answer\": \"of " + step + "\"\n}\n", Length: 48_000, Cut: true,
			Headers: []samples.Header{{Name: "Content-Type", Value: "application/json"}, {Name: "Content-Length", Value: "48000"}}},
		Checks:  []samples.Check{{Check: "status in 200", Passed: status == 200, Got: fmt.Sprint(status)}},
		TraceID: id,
	}
}

// failed is a request that failed. Without a status nothing came back.
func failed(ordinal uint64, step, class string, status int, latency int64, why ...string) samples.Sample {
	s := sample(ordinal, step, status, latency, why...)
	s.Class = class
	switch {
	case status == 0:
		s.Error, s.Response, s.Checks, s.FirstByte, s.BytesIn = class+": read 192.0.2.7:8080: no answer", nil, nil, 0, 0
	case class == "check":
		s.Checks = append(s.Checks, samples.Check{Check: `body contains "ok"`, Got: `{ "answer"`})
	}
	return s
}

// hostile makes each text of a sample try to be more than a text. An answer came, but not a whole one.
func hostile(s samples.Sample) samples.Sample {
	m := samples.Message{Start: Hostile, Headers: []samples.Header{{Name: Hostile, Value: Hostile}}, Body: Hostile, Length: int64(len(Hostile))}
	s.Worker, s.Error, s.Flow, s.Connection.Remote, s.TraceID = Hostile, Hostile, Hostile, Hostile, Hostile
	request, response := m, m
	s.Request, s.Response = &request, &response
	s.Checks = []samples.Check{{Check: Hostile, Got: Hostile}}
	return s
}
