package targets_test

import (
	"fmt"

	"github.com/loadctl/loadctl/targets"
)

func ExampleSpec_Redacted() {
	spec := targets.Spec{
		URL:     "https://user:password@example.com/",
		Headers: []targets.Header{{Name: "Authorization", Value: "Bearer abc"}},
	}
	fmt.Println(spec.Redacted().URL, spec.Redacted().Headers)
	// Output: https://redacted@example.com/ [{Authorization [redacted]}]
}
