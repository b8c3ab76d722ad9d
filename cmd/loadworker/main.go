// Command loadworker is one worker of a fleet that sends requests at one shared rate.
package main

import (
	"os"

	"github.com/loadctl/loadctl/targets/loadworker"
)

func main() { os.Exit(loadworker.Main()) }
