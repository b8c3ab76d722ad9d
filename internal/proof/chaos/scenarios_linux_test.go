package chaos

import (
	"slices"
	"time"
)

// scenarios returns all scenarios, in the order of the table.
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

// enough is the least share of the rate in an undisturbed second. The machine that checks these promises is part of a
// larger one, which sometimes takes a fifth of its time.
const enough = 0.97
