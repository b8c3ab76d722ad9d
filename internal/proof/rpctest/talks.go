package rpctest

import "time"

// A Talk is what requests to a method that takes a stream do, and what becomes of them.
type Talk struct {
	Name, Method, Body, Reply string
	Checks                    []string
	Limit                     int64         // of the body; 0 = the default
	Timeout                   time.Duration // a connection has to fit into it, on a busy machine too

	Status, Class string // of each request; "" = it has none
	Streams       int    // for Requests; 0 = each request has its own
	In            int64  // messages that come with each request
	Unsent        bool   // no message arrives
}

// Requests is how many requests of a Talk are sent.
const Requests = 4

// Talks returns what a client has to get right.
func Talks() []Talk {
	const one, two = `{"responseParameters": [{"size": 3}]}`, `{"responseParameters": [{"size": 1}, {"size": 3}]}`
	return []Talk{
		{Name: "the next message", Method: "FullDuplexCall", Body: one, Streams: 1, In: 1, Checks: []string{"json payload.body = AAAA", "size > 3B", "size < 20B"}},
		{Name: "a message that varies", Method: "FullDuplexCall", Body: `{"responseParameters": [{"size": ${ordinal}}]}`, Reply: "any", Streams: 1, In: 1},
		{Name: "the second message", Method: "FullDuplexCall", Body: two, Reply: "messages 2", Streams: 1, In: 2, Checks: []string{"json payload.body = AAAA"}},
		{Name: "one that fits", Method: "FullDuplexCall", Body: two, Reply: "matches /AAAA/", Streams: 1, In: 2},
		{Name: "no reply", Method: "FullDuplexCall", Body: one, Reply: "none", Streams: 1, In: -1},
		{Name: "the client's stream", Method: "StreamingInputCall", Body: `{"payload": {"body": "aGVsbG8="}}`, Streams: 1},
		{Name: "a long message", Method: "FullDuplexCall", Body: `{"responseParameters": [{"size": 3000000}]}`, Streams: 1, In: 1, Checks: []string{"size > 3MB"}},
		{Name: "a stream each", Method: "FullDuplexCall", Body: two, Reply: "end", Status: "OK", In: 2, Checks: []string{"status OK"}},
		{Name: "a client's stream each", Method: "StreamingInputCall", Body: `{"payload": {"body": "aGVsbG8="}}`, Reply: "end", Status: "OK", In: 1, Checks: []string{"json aggregatedPayloadSize = 5"}},
		{Name: "it fails", Method: "FullDuplexCall", Body: `{"responseStatus": {"code": 8}}`, Status: "RESOURCE_EXHAUSTED", Class: "status"},
		{Name: "it ends", Method: "FullDuplexCall", Body: `{"responseStatus": {"code": 0}}`, Status: "OK", Class: "closed"},
		{Name: "no such method", Method: "HalfDuplexCall", Body: `{}`, Status: "UNIMPLEMENTED", Class: "status", Unsent: true},
		{Name: "it is silent", Method: "FullDuplexCall", Body: `{}`, Timeout: 3 * time.Second, Class: "timeout"},
		{Name: "it sends too much", Method: "FullDuplexCall", Body: `{"responseParameters": [{"size": 2000}]}`, Limit: 1000, Class: "body-limit"},
		{Name: "another check", Method: "FullDuplexCall", Body: one, Checks: []string{"json payload.body = B"}, Streams: 1, In: 1, Class: "check json payload.body = B"},
		{Name: "no message", Method: "FullDuplexCall", Body: `{"responseParameters": [{"size": "${uuid}"}]}`, Class: "request", Streams: -1, Unsent: true},
	}
}
