package targets

import (
	"context"
	"fmt"
	"testing"

	"github.com/loadctl/loadctl/internal/arrivals"
)

// BenchmarkHTTP2 is BenchmarkHTTP with HTTP/2. The server is that of net/http.
func BenchmarkHTTP2(b *testing.B) {
	for _, streams := range []int{1, 50} {
		b.Run(fmt.Sprintf("%d streams", streams), func(b *testing.B) {
			s := arrive(b, arrivals.Options{})
			target := open(b, Spec{URL: s.URL(), HTTP: HTTP2, Streams: streams}, Local{})
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			b.ReportAllocs()
			b.SetParallelism(16)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if out := target.Do(ctx, Call{}); out.Class != "" {
						b.Error(out.Class)
						return
					}
				}
			})
		})
	}
}
