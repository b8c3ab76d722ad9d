//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"
)

// workloads compares the same workloads, at saturation: bodies from a CSV file with two checks of each answer, beside
// k6; and a targets file, beside vegeta.
func workloads(ctx context.Context, b *bench, s *section) error {
	rows := b.file("people.csv")
	if err := os.WriteFile(rows, []byte("id,name\n"+strings.Repeat("12345678,Ann\n", 10_000)), 0o600); err != nil {
		return err
	}
	targets := func(url string) string {
		file := b.file("targets.txt")
		var text strings.Builder
		for i := range 10 {
			fmt.Fprintf(&text, "GET %s%d\nX-Kind: %d\n\n", strings.TrimSuffix(url, "/")+"/items/", i, i)
		}
		if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
			return err.Error() // the tool will not find it
		}
		return file
	}
	script := k6(b)
	script.name, script.args = scripted, func(l load) []string {
		return []string{"run", "-q", "-e", "URL=" + l.url, "-e", fmt.Sprint("VUS=", l.connections), "-e", fmt.Sprint("SECONDS=", l.seconds()),
			"-e", "ROWS=" + rows, b.file("k6data.js")}
	}
	listed := product{variant: mixed, qps: "max", closed: true}
	mix := listed.tool(b)
	mix.args = func(l load) []string {
		file := targets(l.url)
		l.url = ""
		return append(listed.args(b, l), "--targets", file)
	}
	tools := []tool{
		product{variant: peopled, qps: "max", closed: true, flags: []string{"--data", rows, "-d", `{"id": ${people.id}, "name": "${people.name}"}`,
			"--check", "status 200", "--check", `body has "ok"`}}.tool(b),
		script, mix, vegeta(b, targets),
	}
	for i := range tools {
		if err := tools[i].locate(ctx); err != nil {
			s.fail(tools[i].name, err)
		}
	}
	length, warm := b.lasting(4*time.Second, time.Second)
	got, err := contend(ctx, b, s, b.rounds, b.shooters(s, tools, load{connections: 64, length: length}, endpointOptions{}, warm))
	if err != nil {
		return err
	}
	var table [][]string
	for _, r := range got {
		table = append(table, []string{r.name, spannedThousands(of(r.turns, shot.perSecond)), spanned(of(r.turns, shot.micros), "%.2f")})
	}
	s.table([]string{"", "requests/s", "CPU, µs a request"}, table)
	s.atLeast("bodies of a file and two checks, requests per core to k6's", pairedShots(got.take(scripted), got.take("loadworker, "+peopled)).median(), 6, "%.2f")
	s.atLeast("a targets file, requests per core to vegeta's", pairedShots(got.take("vegeta"), got.take("loadworker, "+mixed)).median(), 2.5, "%.2f")
	return nil
}

// The contenders that the goals compare.
const (
	peopled  = "rows in bodies, two checks"
	scripted = "k6, rows in bodies, two checks"
	mixed    = "targets file"
)
