// Package trace makes the trace context of requests (W3C Trace Context, level 1), so that a request can be found in the
// tracing of the endpoint. No id is drawn by chance: whoever knows a run and an ordinal can compute it.
//
//	s := trace.New(trace.Key(uid, "")) // of a run; in a closed loop trace.Key(uid, worker)
//	id := s.ID(7)                      // of request 7, or of all requests of flow 7
//	b = s.Append(b, 7, 0, share)       // 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
//
// Guarantees: the same key, ordinal and step give the same ids everywhere. Nothing allocates, but for Text.
package trace
