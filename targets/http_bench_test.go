package targets

import (
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/loadctl/loadctl/internal/arrivals"
)

// These figures contain the server and the kernel: compare them with each other. The target itself costs only a small
// part.
func BenchmarkHTTP(b *testing.B) {
	s := arrive(b, arrivals.Options{})
	target := open(b, Spec{URL: s.URL()}, Local{})
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if out := target.Do(ctx, Call{}); out.Class != "" {
				b.Error(out.Class)
				return
			}
		}
	})
	if int64(b.N) > s.Count() {
		b.Errorf("%d requests, %d received", b.N, s.Count())
	}
}

// The same through net/http's Transport, for comparison.
func BenchmarkTransport(b *testing.B) {
	s := arrive(b, arrivals.Options{})
	tr := &http.Transport{MaxIdleConnsPerHost: 1000, DisableCompression: true}
	defer tr.CloseIdleConnections()
	req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, s.URL(), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			ctx, cancel := context.WithTimeout(b.Context(), DefaultTimeout)
			resp, err := tr.RoundTrip(req.WithContext(ctx))
			if err != nil {
				b.Error(err)
				cancel()
				return
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			cancel()
		}
	})
}

func BenchmarkNoop(b *testing.B) {
	target := open(b, Spec{URL: "noop://"}, Local{})
	b.ReportAllocs()
	for b.Loop() {
		target.Do(b.Context(), Call{})
	}
}
