package chaos

import (
	"slices"
	"time"
)

// scenarios are all there are, in the order of the table.
func scenarios() []scenario {
	return slices.Concat(
		[]scenario{{name: "nothing breaks", lasts: 11 * time.Second}},
		workerScenarios(),
		redisScenarios(),
		[]scenario{fallbackScenario()},
		forgetfulScenarios(),
		lostScenarios(),
		clockScenarios(),
		failoverScenarios(),
		sentinelScenarios(),
		clusterScenarios(),
		cutScenarios(),
		lineScenarios(),
		commandScenarios(),
	)
}

// enough is how much of the rate a second must have that nothing touches: the machine these promises are checked on is
// a part of a larger one, which takes a fifth of it away at times.
const enough = 0.97
