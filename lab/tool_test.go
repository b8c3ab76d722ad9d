//go:build linux

package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// TestRead reads what each tool once printed, in a run of one second.
func TestRead(t *testing.T) {
	for _, c := range []struct {
		file string
		read func([]byte) (claim, error)
		want claim
	}{
		{"wrk.txt", readWrk, claim{68145, 71 * time.Microsecond, 127 * time.Microsecond, 880 * time.Microsecond}},
		{"ab.txt", readAB, claim{11722, time.Millisecond, time.Millisecond, 4 * time.Millisecond}},
		{"hey.txt", readHey, claim{19921, 300 * time.Microsecond, 700 * time.Microsecond, 1900 * time.Microsecond}},
		{"fortio.json", readFortio, claim{57750, 508681, 906224, 995671}},
		{"k6.json", readK6, claim{7822, 418409, 2161173, 8477498}},
		{"vegeta.json", readVegeta, claim{500, 143194, 209735, 341149}},
		{"loadworker.json", readWorker, claim{119620, 166911, 371199, 1089535}},
	} {
		output, err := os.ReadFile(filepath.Join("testdata", c.file))
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.read(output)
		if err != nil || got != c.want {
			t.Errorf("%s: %+v, %v; want %+v", c.file, got, err, c.want)
		}
		for _, broken := range []string{"", "{}", "Segmentation fault", string(output[:len(output)/8])} {
			if got, err := c.read([]byte(broken)); err == nil {
				t.Errorf("%s: %.40q is read as %+v", c.file, broken, got)
			}
		}
	}
}

func TestArgs(t *testing.T) {
	b := &bench{bin: "/bin", redis: &server{port: 6379}}
	free := load{url: "http://h/", connections: 64, length: 4 * time.Second}
	paced := free
	paced.rate = 1_000
	for _, c := range []struct {
		tool        tool
		free, paced bool
	}{{wrk(), true, false}, {wrk2(), false, true}, {ab(), true, false}, {hey(), true, true}, {fortio(b), true, true}, {k6(b), true, true}} {
		if got := c.tool.command(free) != nil; got != c.free {
			t.Errorf("%s fires as fast as it goes: %v", c.tool.name, got)
		}
		if got := c.tool.command(paced) != nil; got != c.paced {
			t.Errorf("%s fires at a rate: %v", c.tool.name, got)
		}
	}
	if got := hey().args(paced); !slices.Contains(got, "15.625") { // 1,000 among 64
		t.Errorf("each of hey's workers has its part of the rate: %v", got)
	}
	secret := paced
	secret.url = "https://h/"
	got := product{closed: true}.tool(b).command(secret)
	if got[0] != "/bin/loadworker" || !slices.Contains(got, "-k") || !slices.Contains(got, "-c") {
		t.Errorf("loadworker is called with %v", got)
	}
}
