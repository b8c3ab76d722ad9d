package doctest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
)

// asking is a run with a query that is answered, and one that is not.
func asking(o *outputs) {
	prometheus := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("query") == "up" {
			fmt.Fprint(w, `{"status":"success","data":{"resultType":"scalar","result":[1,"-0.5"]}}`)
			return
		}
		http.NotFound(w, r)
	}))
	defer prometheus.Close()
	worker := o.begin(0, "loadworker run --run asking --url noop:// --qps 100 --prometheus "+prometheus.URL+" --query up=up --query away=away")
	worker.says(`(the query has no value)`)
	o.await("loadctl report asking", func(doc any) bool {
		object, _ := doc.(map[string]any)
		return all(one(is("name", "up"), is("max", json.Number("-0.5"))), one(is("name", "away"), not(is("missed", nil))))(object["queries"])
	})
	o.print("loadctl stop asking")
	o.result(worker)
}
