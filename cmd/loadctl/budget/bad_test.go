package budget

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/console/cli/clitest"
	"github.com/loadctl/loadctl/internal/fleet/ledger/ledgertest"
	"github.com/loadctl/loadctl/internal/proof/redistest"
)

// badHosts returns hosts that are wrong, and what the error says.
func badHosts() map[string]string {
	const form, address, port, brackets = "is no host name", "is no IPv6 address; write [::1]", "a port is a number from 1 to 65535", "brackets are for IPv6 addresses"
	return map[string]string{
		"":                                    "the host is missing; write HOST, HOST:PORT, *.DOMAIN or *",
		" ":                                   form,
		"a b":                                 form,
		"-a":                                  form,
		"a-":                                  form,
		"_a.test":                             form,
		"a..b":                                form,
		".a":                                  form,
		".":                                   form,
		"a\x00b":                              form,
		"a\nb":                                form,
		"bücher.example":                      "xn--",
		"١٢٧.0.0.1":                           form,
		"a,b":                                 form,
		"a;b":                                 form,
		"a%20b":                               form,
		strings.Repeat("a", 64):               form,
		strings.Repeat("a.", 130) + "b":       "at most 253 characters",
		strings.Repeat("x", 1<<20):            "at most 253 characters",
		"http://api.example.com":              "is no host but a URL or a path",
		"api.example.com/":                    "is no host but a URL or a path",
		"unix:/run/app.sock":                  "is no host but a URL or a path",
		"user:" + clitest.Secret + "@example": "a host has no user and password",
		"*:80":                                "* stands alone",
		"*.example.com:80":                    "a pattern has no port",
		"*.":                                  form,
		"**":                                  "* stands alone",
		"*example.com":                        "* stands alone",
		"api.*.com":                           "* stands alone",
		"*.*.com":                             "* stands alone",
		"*.10.0.0.1":                          "a pattern is for names, not for addresses",
		"*.[::1]":                             "a pattern has no port",
		"1.2.3":                               "is no IPv4 address",
		"127.1":                               "is no IPv4 address",
		"256.1.1.1":                           "is no IPv4 address",
		"500":                                 "is no IPv4 address",
		":80":                                 form,
		"a:":                                  port,
		"a:0":                                 port,
		"a:65536":                             port,
		"a:http":                              port,
		"a:+80":                               port,
		"a:080":                               port,
		"a:80:80":                             address,
		"[::1":                                brackets,
		"[::1]80":                             brackets,
		"[::1]:":                              port,
		"[a]:80":                              brackets,
		"[]":                                  brackets,
		"[::g]":                               address,
		":::":                                 address,
		"[fe80::1%eth0]:80":                   "leave the zone out",
	}
}

// badRates returns rates that are wrong, and what the error says.
func badRates() map[string]string {
	const form = "not a number of requests per second"
	return map[string]string{
		"max": "a budget is a number of requests per second", "MAX": "a budget is a number", "0": "a budget is above zero; to stop all sending there: loadctl budget freeze HOST --why TEXT",
		"0/s": "a budget is above zero", "": form, "1e3": form, "NaN": form, "5 k": form, "101M": "at most 100000000 requests per second", "1/3s": "too exact for a budget",
		"1/7m": "too exact for a budget", "0.0000001": "too fine", "10/0": "write a time above zero",
	}
}

// badFiles returns files for import that are wrong, and what the error says.
func badFiles() map[string]string {
	const budget = `{"budgets": [{"name": "api", "rate": %s}]}`
	return map[string]string{
		"":                                   "it is empty; write what loadctl budget export prints",
		"api 500":                            "not a JSON document",
		`{"budgets": [`:                      "not a JSON document",
		"[]":                                 "is a JSON array, which does not belong there",
		"null":                               "it has no list of budgets",
		"{}":                                 "it has no list of budgets",
		`{"budgets": {}}`:                    "budgets is a JSON object",
		`{"budgets": [7]}`:                   "is a JSON number",
		`{"budget": []}`:                     `there is no member "budget"`,
		`{"budgets": [{}]}`:                  `budget 1: host "": the host is missing`,
		`{"budgets": [{"name": "a"}]}`:       `budget 1: a: rate "": not a number`,
		`{"budgets": [{"nam": "a"}]}`:        `there is no member "nam"`,
		`{"budgets": [{"name": "a/b"}]}`:     "budget 1: host \"a/b\": is no host but a URL",
		`{"budgets": [{"name": 7}]}`:         "is a JSON number, which does not belong there",
		fmt.Sprintf(budget, "0"):             "a budget is above zero",
		fmt.Sprintf(budget, "-1"):            "a rate is not negative",
		fmt.Sprintf(budget, "1e3"):           "not a number of requests per second",
		fmt.Sprintf(budget, "null"):          "not a number of requests per second",
		fmt.Sprintf(budget, `"max"`):         "a budget is a number of requests per second",
		fmt.Sprintf(budget, "[1]"):           "not a number of requests per second",
		fmt.Sprintf(budget, `1, "frozen":3`): "is a JSON number, which does not belong there",
		fmt.Sprintf(budget, `1, "note":"`+strings.Repeat("x", 201)+`"`): "at most 200 characters",
		fmt.Sprintf(budget, `1, "note":"a\nb"`):                         "write one line",
		fmt.Sprintf(budget, `1, "set_at":"yesterday"`):                  "not a JSON document",
		fmt.Sprintf(budget, `1}, {"name": "API", "rate": 2`):            "budget 2: api is there twice; leave one out",
		fmt.Sprintf(budget, "1") + " {}":                                "there is more behind the document",
		fmt.Sprintf(budget, "1") + strings.Repeat(" ", mostBytes):       "is larger than 4 MiB",
	}
}

// TestBadInput asserts that an error in a command line or a file is found before anything is written, and that one line
// says what to do.
func TestBadInput(t *testing.T) {
	server := redistest.Start(t)
	t.Setenv("LOADCTL_REDIS", server.URL())
	ledgertest.Calm(t, server.Client())
	var all []clitest.Refusal
	bad := func(says string, args ...string) {
		all = append(all, clitest.Refusal{Args: append([]string{"budget"}, args...), Says: []string{says}})
	}
	for host, says := range badHosts() {
		bad(says, "set", "5", "--", host)
		all[len(all)-1].Args = []string{"budget", "set", "--", host, "5"}
		for _, command := range []string{"rm", "show", "thaw"} {
			bad(says, command, "--", host)
		}
		bad(says, "freeze", "--why", "x", "--", host)
	}
	for rate, says := range badRates() {
		bad(says, "set", "api", "--", rate)
	}
	dir := t.TempDir()
	for text, says := range badFiles() {
		file := filepath.Join(dir, fmt.Sprint(len(all)))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		bad(says, "import", file)
	}
	bad("give the path of a file that can be read", "import", filepath.Join(dir, "none"))
	bad("give the path of a file that can be read", "import", dir)
	bad("there is no budget of api; loadctl budget ls lists them", "rm", "api")
	bad("say why nobody may send there", "freeze", "api")
	bad("say why nobody may send there", "freeze", "api", "--why", "  ")
	bad("write one line", "freeze", "api", "--why", "a\tb")
	bad("at most 200 characters", "set", "api", "5", "--note", strings.Repeat("é", 201))
	bad("is no text in UTF-8", "set", "api", "5", "--note", "\xff")
	bad("is not a duration", "set", "api", "5", "--timeout", "5")
	bad("is not a duration", "rm", "api", "--timeout", "-1s")
	bad("there are text, json", "ls", "-o", "csv")
	bad("there are text, json", "show", "api", "-o", "yaml")
	bad("nothing here is negative", "set", "api", "-5")
	bad("give HOST and a rate, such as 500", "set", "api")
	bad("give HOST and a rate, such as 500", "set")
	bad("is one too many", "set", "api", "5", "6")
	bad("give HOST", "show")
	bad("give FILE", "import")
	bad("takes no arguments", "ls", "api")
	bad("takes no arguments", "export", "api")
	bad(`unknown command "sets" for "loadctl budget"; did you mean set?`, "sets")
	if len(badHosts())+len(badRates())+len(badFiles()) < 60 {
		t.Error("too few inputs")
	}
	clitest.RefusedAll(t, newRootCommand, server.Client(), all)
}
