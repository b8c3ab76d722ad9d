// Command openloop sends 200 requests in a second by itself, without Redis, and prints the report.
package main

import (
	"context"
	"log"
	"os"
	"time"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/targets"
)

func main() {
	ctx := context.Background()
	target, err := targets.New(targets.Spec{URL: "noop://"}, targets.Local{})
	if err != nil {
		log.Fatal(err)
	}
	profile := pacer.Constant(pacer.PerSecond(200), time.Second)
	meter := report.NewMeter(profile)
	for k, due := range profile.Pace(ctx) {
		meter.Go(due, func() report.Sample {
			outcome := target.Do(ctx, uint64(k))
			return report.Sample{Status: outcome.Status, Class: outcome.Class}
		})
	}
	err = report.Text(os.Stdout, meter.Report())
	if err != nil {
		log.Fatal(err)
	}
}
