package worker_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/loadctl/loadctl/internal/engine/blocking"
	"github.com/loadctl/loadctl/internal/engine/loop"
	"github.com/loadctl/loadctl/internal/engine/worker"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/client"
	"github.com/loadctl/loadctl/targets/wire"
)

// BenchmarkTLS fires as fast as it can over 64 connections with TLS, by the event loop, package blocking and net/http's own
// client. The server is another process, so the processor time is that of the client:
//
//	go test ./internal/engine/worker -run '^$' -bench TLS -benchtime 3s -cpu 1
func BenchmarkTLS(b *testing.B) {
	const connections = 64
	url := startTLS(b)
	b.Run("loop", func(b *testing.B) { benchmarkLoopTLS(b, url, connections) })
	b.Run("blocking", func(b *testing.B) { benchmarkBlockingTLS(b, url, connections) })
	b.Run("net-http", func(b *testing.B) { benchmarkTransportTLS(b, url, connections) })
}

// startTLS starts a server for the length of the benchmark and returns its URL.
func startTLS(b *testing.B) string {
	b.Helper()
	server := exec.Command(os.Args[0])
	server.Env, server.Stderr = append(os.Environ(), serveTLS+"=1"), os.Stderr
	stdin, err := server.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := server.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := server.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		stdin.Close()
		_ = server.Wait()
	})
	url, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(url)
}

func benchmarkLoopTLS(b *testing.B, url string, connections int) {
	wire, err := wire.New(targets.Spec{URL: url, Insecure: true}, targets.Local{})
	if err != nil {
		b.Fatal(err)
	}
	c, err := loop.New(pacer.NewClock(), wire, connections)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	benchmarkClientTLS(b, c, connections)
}

func benchmarkBlockingTLS(b *testing.B, url string, connections int) {
	target, err := client.New(targets.Spec{URL: url, Insecure: true}, targets.Local{MaxConnections: connections})
	if err != nil {
		b.Fatal(err)
	}
	defer target.Close()
	a := blocking.New(pacer.NewClock(), target, connections)
	defer a.Close()
	benchmarkClientTLS(b, a, connections)
}

func benchmarkClientTLS(b *testing.B, a worker.Client, connections int) {
	b.Helper()
	done, sent := 0, 0
	count := func(r targets.Result) {
		if done++; r.Outcome.Class != "" {
			b.Errorf("request %d: %+v", r.Call.Number, r.Outcome)
		}
	}
	fire := func(n int) {
		for n += done; done < n; {
			now := a.Now()
			for sent < n && a.Send(now, now, targets.Call{Number: uint64(sent)}) {
				sent++
			}
			_ = a.Poll(now+int64(time.Second), count)
		}
	}
	fire(10 * connections) // the handshakes are not measured
	perCPU(b, func() { fire(b.N) })
}

func benchmarkTransportTLS(b *testing.B, url string, connections int) {
	tr := &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, MaxIdleConnsPerHost: connections, MaxConnsPerHost: connections, DisableCompression: true,
	}
	defer tr.CloseIdleConnections()
	fire := func(n int64) {
		var begun atomic.Int64
		var clients sync.WaitGroup
		for range connections {
			clients.Go(func() {
				for begun.Add(1) <= n {
					if err := get(b.Context(), tr, url); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		clients.Wait()
	}
	fire(10 * int64(connections))
	perCPU(b, func() { fire(int64(b.N)) })
}

// get performs one request with a timeout.
func get(ctx context.Context, tr *http.Transport, url string) error {
	ctx, cancel := context.WithTimeout(ctx, targets.DefaultTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := tr.RoundTrip(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return err
}

// perCPU reports how many of the b.N requests of work this process made in a second of processor time, and of time.
func perCPU(b *testing.B, work func()) {
	b.Helper()
	b.ReportAllocs()
	b.ResetTimer()
	began, busy := time.Now(), processTime(b)
	work()
	b.ReportMetric(float64(b.N)/(processTime(b)-busy).Seconds(), "req/cpu-s")
	b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "req/s")
}

func processTime(b *testing.B) time.Duration {
	b.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
