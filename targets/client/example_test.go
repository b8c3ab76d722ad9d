package client_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/client"
)

func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusTeapot)
	}))
	defer server.Close()

	target, err := client.New(targets.Spec{URL: server.URL, Expect: "200-299"}, targets.Local{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer target.Close()
	outcome := target.Do(context.Background(), targets.Call{})
	fmt.Println(outcome.Status, outcome.Class)
	// Output: 418 status
}
