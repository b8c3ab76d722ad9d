package sigtest

import (
	"bufio"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestCheck: published requests of the test suite of AWS are valid, and are not if anything changes.
func TestCheck(t *testing.T) {
	const (
		form  = "%s HTTP/1.1\r\nHost: example.amazonaws.com\r\nX-Amz-Date: 20150830T123600Z\r\n"
		begin = "Authorization: AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=host;x-amz-date, Signature="
	)
	at := time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC)
	right := Verifier{
		Region: "us-east-1", Service: "service", AccessKey: "AKIDEXAMPLE", SecretKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
		Now: func() time.Time { return at },
	}
	check := func(v Verifier, text string) error {
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(text)))
		if err != nil {
			t.Fatal(err)
		}
		return v.Check(r)
	}
	for line, signature := range map[string]string{
		"GET /":                             "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
		"GET /?Param2=value2&Param1=value1": "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
		"GET //example//":                   "9a624bd73a37c9a373b5312afbebe7a714a789de108f0bdfe846570885f57e84",
		"GET /?Param-3=Value3&Param=Value2&%E1%88%B4=Value1": "371d3713e185cc334048618a97f809c9ffe339c62934c032af5a0e595648fcac",
	} {
		text := strings.Replace(form, "%s", line, 1) + begin + signature + "\r\n\r\n"
		if err := check(right, text); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		for _, change := range [][2]string{
			{"GET", "PUT"}, {line, line + "x"}, {"example.amazonaws", "other.amazonaws"}, {"123600Z", "123601Z"}, {"\r\n\r\n", "\r\nX-Amz-Other: x\r\n\r\n"},
			{"\r\n\r\n", "\r\nContent-Type: text/plain\r\n\r\n"}, {"\r\n\r\n", "\r\nContent-Length: 1\r\n\r\nx"}, {"AKID", "BKID"}, {";x-amz-date", ""},
		} {
			if err := check(right, strings.Replace(text, change[0], change[1], 1)); err == nil {
				t.Errorf("%s: %q may be %q", line, change[0], change[1])
			}
		}
		wrong, late := right, right
		wrong.SecretKey += "x"
		late.Now = func() time.Time { return at.Add(6 * time.Minute) }
		if check(wrong, text) == nil || check(late, text) == nil {
			t.Errorf("%s: another secret key, or another time, does not matter", line)
		}
	}
}
