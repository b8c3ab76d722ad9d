package targets_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/loadctl/loadctl/targets"
)

func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusTeapot)
	}))
	defer server.Close()

	target, err := targets.New(targets.Spec{URL: server.URL, Expect: "200-299"}, targets.Local{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer target.Close()
	outcome := target.Do(context.Background(), targets.Call{})
	fmt.Println(outcome.Status, outcome.Class)
	// Output: 418 status
}

func ExampleSpec_Redacted() {
	spec := targets.Spec{
		URL:     "https://user:password@example.com/",
		Headers: []targets.Header{{Name: "Authorization", Value: "Bearer abc"}},
	}
	fmt.Println(spec.Redacted().URL, spec.Redacted().Headers)
	// Output: https://redacted@example.com/ [{Authorization [redacted]}]
}
