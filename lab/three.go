//go:build linux

package main

import (
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go/http3"
)

// plainThreePart is the peer for HTTP/3: a closed loop over http3.Transport, as simple as it can be used. A Transport has
// one connection to a server.
func plainThreePart(args []string) error {
	flags := flag.NewFlagSet("plain-h3", flag.ContinueOnError)
	url := flags.String("url", "", "")
	connections := flags.Int("connections", 64, "")
	streams := flags.Int("streams", 1, "")
	length := flags.Duration("length", time.Second, "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), *length)
	defer cancel()
	var done atomic.Int64
	var all sync.WaitGroup
	for range *connections {
		transport := &http3.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // a benchmark's own server
		defer transport.Close()                                                               //nolint:errcheck // the process ends
		for range *streams {
			all.Go(func() {
				for ctx.Err() == nil {
					if ask(transport, *url) == nil {
						done.Add(1)
					}
				}
			})
		}
	}
	all.Wait()
	fmt.Fprintln(os.Stdout, "requests", done.Load())
	return nil
}

// ask makes a request, and reads the answer.
func ask(transport http.RoundTripper, url string) error {
	r, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	answer, err := transport.RoundTrip(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	_, err = io.Copy(io.Discard, answer.Body)
	return err
}

// plainThree is this part as a tool.
func plainThree(streams int) (tool, error) {
	path, err := self()
	return tool{
		name: "http3.Transport", program: "bench", path: path, version: "of quic-go",
		args: func(l load) []string {
			return []string{"plain-h3", "-url", l.url, "-connections", fmt.Sprint(l.connections), "-streams", fmt.Sprint(streams), "-length", l.length.String()}
		},
		read: func(output []byte) (claim, error) {
			m := regexp.MustCompile(`requests (\d+)`).FindSubmatch(output)
			if m == nil {
				return claim{}, unread("http3.Transport", "number of requests")
			}
			n, err := strconv.ParseInt(string(m[1]), 10, 64)
			return claim{requests: n}, err
		},
	}, err
}

// saturationThree lets loadworker and a plain client fire over HTTP/3 as fast as they can. The endpoint is slower than
// both, so the CPU time of the clients is compared too.
func saturationThree(ctx context.Context, b *bench, s *section) error {
	length, warm := b.lasting(3*time.Second, time.Second)
	const together = 64 // requests at a time
	for _, streams := range []int{1, 16} {
		s.heading("%d connections, up to %d at a time on each", together/streams, streams)
		peer, err := plainThree(streams)
		if err != nil {
			return err
		}
		ours := product{variant: "max", qps: "max", flags: []string{
			"-c", fmt.Sprint(together), "--http", "3", "--streams", fmt.Sprint(streams),
		}}.tool(b)
		rounds, err := contend(ctx, b, s, b.rounds, b.shooters(s, []tool{ours, peer}, load{connections: together / streams, length: length}, endpointOptions{tls: true, three: true}, warm))
		if err != nil {
			return err
		}
		var rows [][]string
		for _, r := range rounds {
			rows = append(rows, []string{
				r.name, spannedThousands(of(r.turns, shot.perSecond)), spanned(of(r.turns, shot.micros), "%.1f"), times(ratio(rounds, shot.micros, r.name, peer.name)),
				spanned(of(r.turns, shot.mebibytes), "%.0f"),
				fmt.Sprintf("%.0f / %.0f", of(r.turns, shot.clientShare).median(), of(r.turns, shot.endpointShare).median()),
			})
		}
		s.table([]string{"", "requests/s", "CPU, µs a request", "to http3.Transport", "peak memory, MiB", "busy, %: client / endpoint"}, rows)
		perCore := func(s shot) float64 { return 1e6 / s.micros() }
		s.atLeast(fmt.Sprintf("%s over HTTP/3, up to %d at a time on a connection, requests per second of its core to http3.Transport's", ours.name, streams),
			ratio(rounds, perCore, ours.name, peer.name), 1, "%.2f")
	}
	return nil
}
