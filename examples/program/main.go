// Command program takes part in the run that it is given, as a worker does, and prints a line for each slot that it gets.
//
//	loadctl create rows --url program://rows --qps 500 -n 10000 --min-workers 2
//	program redis://127.0.0.1:6379 rows      # twice
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"

	"github.com/loadctl/loadctl/targets/fleet"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: program REDIS-URL RUN")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := fleet.Join(ctx, os.Args[1], os.Args[2], func(_ context.Context, c fleet.Call) fleet.Outcome {
		_, err := fmt.Println("row", c.Number)
		return fleet.Outcome{Err: err}
	})
	if err != nil {
		log.Fatal(err)
	}
}
