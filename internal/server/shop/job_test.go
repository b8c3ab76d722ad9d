package shop

import (
	"fmt"
	"testing"

	"github.com/tidwall/gjson"
)

// TestJob asserts that a job is running as often as it was told, and that its result comes only then.
func TestJob(t *testing.T) {
	v := visit(t)
	for body, polls := range map[string]int{`{"polls": 2}`: 2, `{"polls": 0}`: 0, "": 3} {
		status, reply := v.send("POST", "/jobs", body)
		id := gjson.Get(reply, "id").String()
		if status != 201 || id == "" || gjson.Get(reply, "state").String() != "running" {
			t.Fatalf("%d %s", status, reply)
		}
		for i := range polls {
			if status, _ := v.send("GET", "/jobs/"+id+"/result", ""); status != 409 && i < polls {
				t.Errorf("%d polls: result before %d: %d", polls, i, status)
			}
			if _, reply := v.send("GET", "/jobs/"+id, ""); gjson.Get(reply, "state").String() != "running" {
				t.Errorf("%d polls: at %d %s", polls, i, reply)
			}
		}
		if status, reply := v.send("GET", "/jobs/"+id, ""); status != 200 || gjson.Get(reply, "state").String() != "done" {
			t.Errorf("%d polls: at last %s", polls, reply)
		}
		if status, reply := v.send("GET", "/jobs/"+id+"/result", ""); status != 200 || gjson.Get(reply, "total").Int() != int64(price(fmt.Sprint(polls))) {
			t.Errorf("%d polls: %d %s", polls, status, reply)
		}
	}
	for _, c := range []struct {
		method, path, body string
		status             int
	}{{"POST", "/jobs", `{"polls": 101}`, 400}, {"POST", "/jobs", `{"polls": -1}`, 400}, {"POST", "/jobs", "x", 400}, {"GET", "/jobs/x", "", 404},
		{"GET", "/jobs/" + v.login("7"), "", 404}, {"GET", "/jobs/x/result", "", 404}} {
		if status, reply := v.send(c.method, c.path, c.body); status != c.status {
			t.Errorf("%s %s: %d %s", c.method, c.path, status, reply)
		}
	}
}
