// Command openloop sends 200 requests in a second by itself, without Redis, and prints the report.
package main

import (
	"context"
	"log"
	"os"
	"time"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/render"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/client"
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	target, err := client.New(targets.Spec{URL: "noop://"}, targets.Local{})
	if err != nil {
		return err
	}
	defer target.Close() //nolint:errcheck // the program ends here
	profile := pacer.Constant(pacer.PerSecond(200), time.Second)
	meter := report.NewMeter(profile)
	for k, due := range profile.Pace(ctx) {
		meter.Go(due, func() record.Finished {
			outcome := target.Do(ctx, targets.Call{Number: uint64(k)})
			return record.Finished{Status: outcome.Status, BytesIn: outcome.BytesIn, BytesOut: outcome.BytesOut, Class: outcome.Class}
		})
	}
	return render.Text(os.Stdout, meter.Report())
}
