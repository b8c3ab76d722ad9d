package importer

import (
	"strings"
	"testing"
)

// TestImportLogs: each format is recognized by its lines, and its requests are read. The lines are of the formats'
// documents.
func TestImportLogs(t *testing.T) {
	const w3c = "#Version: 1.0\n#Fields: date time "
	for name, c := range map[string]struct {
		text string
		want string
		says string
	}{
		"ALB": {
			`https 2026-01-31T12:00:00.186641Z app/lb/50dc6c495c0c9188 192.0.2.1:2817 10.0.0.1:80 0.086 0.048 0.037 200 200 0 57 "GET https://www.example.com:443/a?x=1 HTTP/1.1" "curl/7.46.0" ECDHE TLSv1.2 arn "Root=1-5" "-" "-" 1 2026-01-31T11:59:59.364000Z "authenticate,forward" "-" "-" "10.0.0.1:80" "200" "-" "-"` + "\n" +
				`h2 2026-01-31T12:00:09.186641Z app/lb/50dc6c495c0c9188 192.0.2.1:2817 - -1 -1 -1 400 - 0 57 "- http://lb:80- " "-" - - - "-" "-" "-" - 2026-01-31T12:00:00Z "-" "-" "-" "-" "-" "-" "-"`,
			"GET http://h/a?x=1", "2 requests from 2026-01-31 12:00:00 to 2026-01-31 12:00:09 UTC",
		},
		"ELB": {
			`2026-01-31T12:00:00.945958Z my-lb 192.0.2.1:2817 10.0.0.1:80 0.000073 0.001048 0.000057 200 200 0 29 "GET http://www.example.com:80 HTTP/1.1" "curl/7.38.0" - -`,
			"GET http://h/", "1 request from 2026-01-31 12:00:00",
		},
		"CloudFront": {
			w3c + "x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) cs(User-Agent) cs-uri-query\n2026-01-31\t12:00:00\tSEA19-C1\t900\t192.0.2.1\tGET\td.cloudfront.net\t/view.html\t200\t-\tcurl/7\ta=1&b\n2026-01-31\t12:00:02\tSEA19-C1\t900\t192.0.2.1\tPOST\td.cloudfront.net\t/view\t200\t-\tcurl/7\t-",
			"GET http://h/view.html?a=1&b|POST http://h/view", "2 requests from 2026-01-31 12:00:00",
		},
		"IIS": {
			"#Software: Microsoft Internet Information Services 10.0\r\n" + strings.Replace(w3c, "\n", "\r\n", 1) + "s-ip cs-method cs-uri-stem cs-uri-query sc-status\r\n2026-01-31 12:00:00 192.0.2.1 GET /a.aspx q=1 200\r\n#Date: 2026-01-31 12:00:01\r\n#Fields: date time cs-uri-stem cs-method\r\n2026-01-31 12:00:01 /b GET\r\n",
			"GET http://h/a.aspx?q=1|GET http://h/b", "2 requests",
		},
		"HAProxy": {
			`Jan 31 12:00:00 lb haproxy[14389]: 192.0.2.1:33317 [31/Jan/2026:12:00:00.655] http-in~ static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 {1wt.eu} {} "GET /index.html HTTP/1.1"` + "\n" +
				`Jan 31 12:00:01 lb haproxy[14389]: 192.0.2.1:33317 [31/Jan/2026:12:00:01.655] http-in static/srv1 10/0/30/69/+109 200 +2750 - - ---- 1/1/1/1/0 0/0 "POST https://a.test/b HTTP/2.0"` + "\n" +
				`Jan 31 12:00:01 lb haproxy[14389]: 192.0.2.1:33317 [31/Jan/2026:12:00:01.655] http-in http-in/<NOSRV> -1/-1/-1/-1/1 400 187 - - PR-- 1/1/0/0/0 0/0 "<BADREQ>"` + "\n" +
				`Jan 31 12:00:01 lb haproxy[14389]: 192.0.2.1:33317 [31/Jan/2026:12:00:01.655] http-in static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 "GET /cut-off`,
			"GET http://h/index.html|POST http://h/b", "4 requests from 2026-01-31 12:00:00 to 2026-01-31 12:00:01 (local time)",
		},
		"S3": {
			`79a59df900b949e5 bucket [31/Jan/2026:12:00:00 +0000] 192.0.2.3 79a59df900b949e5 3E57427F3EXAMPLE REST.GET.OBJECT a.png "GET /bucket/a.png?versionId=1 HTTP/1.1" 200 - 113 - 7 - "-" "S3Console/0.4" -` + "\n" +
				`79a59df900b949e5 bucket [31/Jan/2026:12:00:00 +0000] - AmazonS3 3E57427F3EXAMPLE S3.EXPIRE.OBJECT a.png - - - - 113 - - "-" "-" -`,
			"GET http://h/bucket/a.png?versionId=1", "--profile replay:t",
		},
		"nginx": {
			`{"time_local":"31/Jan/2026:12:00:00 +0000","request":"GET /a?b=1 HTTP/1.1","status":"200"}` + "\n" + `{"time_iso8601":"2026-01-31T12:00:03+00:00","request_method":"GET","uri":"/c","args":"d=e"}` + "\n" + `{"msec":"1769860805.123","request_method":"GET","request_uri":"/f?g","args":"g"}`,
			"GET http://h/a?b=1|GET http://h/c?d=e|GET http://h/f?g", "3 requests from 2026-01-31 12:00:00 to 2026-01-31 12:00:05 UTC",
		},
		"Caddy": {
			`{"level":"info","ts":1769860799,"msg":"using config from file"}` + "\n" + `{"level":"info","ts":1769860800.54,"logger":"http.log.access","msg":"handled request","request":{"remote_ip":"127.0.0.1","proto":"HTTP/2.0","method":"GET","host":"localhost","uri":"/a?b","headers":{"Accept":["*/*"]}},"status":200}`,
			"GET http://h/a?b", "Left out: 1 line without a request that can be sent, 50.00 %",
		},
		"Traefik": {
			`{"ClientAddr":"192.0.2.1:1","RequestMethod":"GET","RequestPath":"/a?b=c","StartUTC":"2026-01-31T12:00:00.5Z","time":"2026-01-31T12:00:01Z"}`,
			"GET http://h/a?b=c", "1 request",
		},
		"Google": {
			`{"httpRequest":{"requestMethod":"GET","requestUrl":"https://a.test/b"},"timestamp":"2026-01-31T12:00:01.5Z"}`,
			"GET http://h/b", "To send at the rate of the log: --profile replay:t",
		},
	} {
		text, err := Workload(strings.NewReader(c.text), Options{Name: "t", Base: "http://h"})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []string
		for _, f := range parsed(t, string(text)) {
			got = append(got, f.Steps[0].Method+" "+f.Steps[0].URL)
		}
		if strings.Join(got, "|") != c.want || !strings.Contains(string(text), c.says) {
			t.Errorf("%s: %q, want %q and %q\n%s", name, got, c.want, c.says, text)
		}
	}
}

// TestImportRecognizesLogs: JSON lines are a log if they have a time, and else targets.
func TestImportRecognizesLogs(t *testing.T) {
	for text, want := range map[string]string{
		`{"method": "GET", "url": "http://a/"}`:                                 "targets",
		`{"method": "GET", "url": "http://a/", "time": "2026-01-31T12:00:00Z"}`: "pattern",
		"#Version: 1.0\ncurl http://a/":                                         "command",
	} {
		o := Options{Name: "t"}
		if want == "pattern" {
			o.Base = "http://h"
		}
		got, err := Workload(strings.NewReader(text), o)
		if err != nil || !strings.Contains(string(got), strings.TrimSuffix(want, "s")) {
			t.Errorf("%s: %v, want %s\n%s", text, err, want, got)
		}
	}
}
