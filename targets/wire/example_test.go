package wire

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/rows"
)

// TestExamples: the first requests have the rows that they will have, the order of the mix, and no secret.
func TestExamples(t *testing.T) {
	table, err := rows.Read("users.csv", []byte("name\nAnn\nB/o\n"))
	if err != nil {
		t.Fatal(err)
	}
	s := targets.Spec{
		Data: []rows.Source{{Name: "users", Columns: table.Columns(), Rows: 2, Pick: rows.Cycle, SHA256: table.SHA256()}},
		Flows: []targets.Flow{
			{Name: "buy", Weight: 1, Steps: []targets.Step{
				{Name: "login", URL: "http://bob:hunter2@a/login", Body: []byte(`{"user":"${users.name}"}`), Headers: []targets.Header{{Name: "Content-Type", Value: "application/json"}, {Name: "X-Key", Value: "hunter2"}}},
				{Name: "pay", URL: "http://a/${users.name}?n=${ordinal}", Method: "PUT"},
			}},
			{Name: "browse", Weight: 2, Steps: []targets.Step{{Name: "list", URL: "http://a/?at=${now}"}}},
		},
	}
	all, err := Examples(s, 6, targets.Tables{table.SHA256(): table}, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, e := range all {
		fmt.Fprintln(&got, e.Number, e.Flow, e.Step, e.Method, e.URL, e.Headers, string(e.Body))
	}
	want := `0 browse list GET http://a/?at=1970-01-01T00:00:00.000Z [] 
1 buy login POST http://redacted@a/login [{Content-Type application/json} {X-Key [redacted]}] {"user":"Ann"}
1 buy pay PUT http://a/Ann?n=1 [] 
2 browse list GET http://a/?at=1970-01-01T00:00:00.000Z [] 
3 browse list GET http://a/?at=1970-01-01T00:00:00.000Z [] 
4 buy login POST http://redacted@a/login [{Content-Type application/json} {X-Key [redacted]}] {"user":"B/o"}
`
	if got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
	one, err := Examples(targets.Spec{URL: "noop://"}, 1, nil, time.Unix(0, 0))
	if err != nil || len(one) != 1 || one[0].Method != "" || one[0].URL != "noop://" {
		t.Errorf("%+v, %v", one, err)
	}
}

// TestExampleOfSecrets: of headers that are secrets, what the file has is not shown, and of columns that are, no cell. All
// other headers are.
func TestExampleOfSecrets(t *testing.T) {
	table, err := rows.Read("users.csv", []byte("name,password\nAnn,hunter2\n"))
	if err != nil {
		t.Fatal(err)
	}
	form := targets.Header{Name: "Content-Type", Value: "application/x-www-form-urlencoded"}
	s := targets.Spec{
		Data: []rows.Source{{Name: "users", Columns: table.Columns(), Rows: 1, Pick: rows.Cycle, SHA256: table.SHA256()}},
		Flows: []targets.Flow{{Name: "f", Steps: []targets.Step{
			{Name: "a", URL: "http://a/${users.password}", Method: "POST", Headers: []targets.Header{form, {Name: "X-Client", Value: "web"}, {Name: "Cookie", Value: "hunter2"}, {Name: "X-Token", Value: "hunter2 ${users.name}"}},
				Body: []byte("u=${users.name}&p=${users.password}"), Takes: []targets.Take{{Name: "token", From: "json token"}}},
			{Name: "b", URL: "http://a/?t=${token}", Method: "GET", Headers: []targets.Header{{Name: "Authorization", Value: "Bearer ${token}"}, {Name: "X-Auth", Value: "${users.password}"}, {Name: "Idempotency-Key", Value: "7"}}},
		}}},
	}
	all, err := Examples(s, 2, targets.Tables{table.SHA256(): table}, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, e := range all {
		fmt.Fprintln(&got, e.URL, e.Headers[len(e.Headers)-3:], string(e.Body))
	}
	want := `http://a/<users.password> [{X-Client web} {Cookie [redacted]} {X-Token [redacted]}] u=Ann&p=<users.password>
http://a/?t=<token> [{Authorization Bearer <token>} {X-Auth <users.password>} {Idempotency-Key 7}] 
`
	if got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
}

// TestExampleOfTakes: what is not known yet is shown in another way than what is.
func TestExampleOfTakes(t *testing.T) {
	s := targets.Spec{Flows: []targets.Flow{{Name: "f", Steps: []targets.Step{
		{Name: "a", URL: "http://a/", Takes: []targets.Take{{Name: "token", From: "json token"}}},
		{Name: "b", URL: "http://a/${token}/x", Method: "POST", Headers: []targets.Header{{Name: "Accept", Value: "${ token }"}}, Body: []byte("${token} $${token} ${ordinal}")},
	}}}}
	all, err := Examples(s, 2, nil, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	if e := all[1]; e.URL != "http://a/<token>/x" || e.Headers[0].Value != "<token>" || string(e.Body) != "<token> ${token} 0" {
		t.Errorf("%+v %s", e, e.Body)
	}
}

// TestExampleOfLiterals: $${ is sent as ${, also in a URL without placeholders.
func TestExampleOfLiterals(t *testing.T) {
	s := targets.Spec{URL: "http://a/x?b=$${c}", Method: "POST", Headers: []targets.Header{{Name: "Accept", Value: "$${h}"}}, Body: []byte("$${d}")}
	all, err := Examples(s, 1, nil, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	if e := all[0]; e.URL != "http://a/x?b=${c}" || e.Headers[0].Value != "${h}" || string(e.Body) != "${d}" {
		t.Errorf("%+v %s", e, e.Body)
	}
}
