// Command counter is an HTTP server to fire at: it answers 200 to everything and prints each second how many requests
// arrived. Ctrl-C ends it, or the end of -for.
//
//	go run ./examples/counter -for 30s
//
// It remembers when each request arrived, 8 bytes for each, so it is not for days.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/loadctl/loadctl/internal/arrivals"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "where to listen; port 0 takes a free one")
	length := flag.Duration("for", 0, "how long to serve; 0 = until Ctrl-C")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if *length > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, *length)
		defer cancel()
	}
	if err := serve(ctx, *addr); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// serve counts until ctx ends. Seconds without a request are not printed.
func serve(ctx context.Context, addr string) error {
	server, err := arrivals.Start(arrivals.Options{Addr: addr})
	if err != nil {
		return err
	}
	defer func() { _ = server.Close() }() // at the end: nobody is left to tell
	fmt.Println("counting at", server.URL())

	second := time.NewTicker(time.Second)
	defer second.Stop()
	var before int64
	for {
		select {
		case now := <-second.C:
			if n := server.Count(); n > before {
				fmt.Printf("%s  %d in this second, %d in all\n", now.Format(time.TimeOnly), n-before, n)
				before = n
			}
		case <-ctx.Done():
			fmt.Println(server.Count(), "requests in all")
			return nil
		}
	}
}
