//go:build linux

package main

import (
	"fmt"
	"os"
	"testing"
)

// TestMain lets the test binary run the parts of the benchmark, as the real program does.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		if part, ok := parts()[os.Args[1]]; ok {
			if err := part(os.Args[2:]); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

func TestChoose(t *testing.T) {
	if all, err := choose(""); err != nil || len(all) != len(experiments()) {
		t.Errorf("no name chooses %d experiments, %v", len(all), err)
	}
	some, err := choose("rate,renewal")
	if err != nil || len(some) != 2 || some[0].name != "rate" || some[1].name != "renewal" {
		t.Errorf("rate,renewal chooses %v, %v", some, err)
	}
	if _, err := choose("rate,speed"); err == nil {
		t.Error("an experiment that there is not was chosen")
	}
}
