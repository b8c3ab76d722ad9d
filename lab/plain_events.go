//go:build linux

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// plainEventsPart is the peer for answers with events, as simple as it can be written: a goroutine for each stream, which
// reads line by line and records the gaps between events. It ends when the answers end that were open at the end.
func plainEventsPart(args []string) error {
	flags := flag.NewFlagSet("plain-sse", flag.ContinueOnError)
	url := flags.String("url", "", "")
	streams := flags.Int("streams", 1, "")
	length := flags.Duration("length", time.Second, "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	reader := &plainEvents{
		client: http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: *streams, DisableCompression: true}},
		first:  hdrhistogram.New(1000, int64(time.Hour), 3), gap: hdrhistogram.New(1000, int64(time.Hour), 3),
	}
	var all sync.WaitGroup
	failed := make(chan error, *streams)
	for until := time.Now().Add(*length); *streams > 0; *streams-- {
		all.Go(func() {
			for time.Now().Before(until) {
				if err := reader.read(*url); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	all.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return json.NewEncoder(os.Stdout).Encode(map[string]int64{
			"events": reader.events, "first_p99": reader.first.ValueAtQuantile(99), "gap_p99": reader.gap.ValueAtQuantile(99),
		})
	}
}

// plainEvents reads answers. Its method is safe for concurrent use.
type plainEvents struct {
	client http.Client

	mu         sync.Mutex // guards what follows
	events     int64
	first, gap *hdrhistogram.Histogram
}

// read reads one answer.
func (p *plainEvents) read(url string) error {
	last := time.Now()
	answer, err := p.client.Get(url)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	to := p.first
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		if !bytes.HasPrefix(lines.Bytes(), []byte("data:")) {
			continue
		}
		now := time.Now()
		p.mu.Lock()
		p.events++
		err := to.RecordValue(int64(now.Sub(last)))
		p.mu.Unlock()
		if err != nil {
			return err
		}
		last, to = now, p.gap
	}
	return lines.Err()
}

// plainStreams is this part as a tool.
func plainStreams() (tool, error) {
	path, err := self()
	return tool{
		name: "net/http", program: "bench", path: path, version: "of Go",
		args: func(l load) []string {
			return []string{"plain-sse", "-url", l.url, "-streams", fmt.Sprint(l.connections), "-length", l.length.String()}
		},
		read: func(output []byte) (claim, error) {
			var said struct{ Events int64 }
			if err := json.Unmarshal(output, &said); err != nil || said.Events == 0 {
				return claim{}, unread("net/http", "number of events")
			}
			return claim{requests: said.Events}, nil
		},
		exact: true,
	}, err
}
