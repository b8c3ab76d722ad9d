package metrics

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// How often is pushed, and how long a push may take, unless the environment says something else.
const (
	pushEvery   = 10 * time.Second
	pushTimeout = 10 * time.Second
)

// NewPush returns a Push as the OTEL_ variables of the environment describe it; nil if they name no endpoint, or turn
// metrics off. version is that of this program. An error names the variable, and not its value, which may be a secret.
func NewPush(getenv func(string) string, version string) (*Push, error) {
	own := func(name string) string {
		return cmp.Or(getenv("OTEL_EXPORTER_OTLP_METRICS_"+name), getenv("OTEL_EXPORTER_OTLP_"+name))
	}
	to := getenv("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT")
	if base := getenv("OTEL_EXPORTER_OTLP_ENDPOINT"); to == "" && base != "" {
		to = strings.TrimSuffix(base, "/") + "/v1/metrics"
	}
	if to == "" || strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") || getenv("OTEL_METRICS_EXPORTER") == "none" {
		return nil, nil
	}
	p := &Push{version: version, header: http.Header{}, attributes: map[string]string{}}
	var err error
	if p.to, err = url.Parse(to); err != nil || p.to.Host == "" || p.to.Scheme != "http" && p.to.Scheme != "https" {
		return nil, errors.New("read OTEL_EXPORTER_OTLP_ENDPOINT: it is no address; give one such as http://127.0.0.1:4318")
	}
	if protocol := cmp.Or(own("PROTOCOL"), "http/protobuf"); protocol != "http/protobuf" {
		return nil, fmt.Errorf("read OTEL_EXPORTER_OTLP_PROTOCOL: %q is not supported; set it to http/protobuf, and the endpoint to the port for HTTP, usually 4318",
			protocol)
	}
	headers, err := list("OTEL_EXPORTER_OTLP_HEADERS", own("HEADERS"))
	if err != nil {
		return nil, err
	}
	for name, text := range headers {
		p.header.Set(name, text)
	}
	if p.attributes, err = list("OTEL_RESOURCE_ATTRIBUTES", getenv("OTEL_RESOURCE_ATTRIBUTES")); err != nil {
		return nil, err
	}
	if name := getenv("OTEL_SERVICE_NAME"); name != "" {
		p.attributes["service.name"] = name
	}
	p.every, err = milliseconds("OTEL_METRIC_EXPORT_INTERVAL", getenv("OTEL_METRIC_EXPORT_INTERVAL"), pushEvery)
	if err != nil {
		return nil, err
	}
	p.timeout, err = milliseconds("OTEL_EXPORTER_OTLP_TIMEOUT", own("TIMEOUT"), pushTimeout)
	return p, err
}

// list reads NAME=VALUE pairs with commas between them. Values are percent-encoded.
func list(variable, text string) (map[string]string, error) {
	all := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, escaped, ok := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(escaped))
		if name = strings.TrimSpace(name); !ok || name == "" || err != nil {
			return nil, fmt.Errorf("read %s: it is no list of pairs; write NAME=VALUE,NAME=VALUE, and %%2C for a comma in a value", variable)
		}
		all[name] = value
	}
	return all, nil
}

// milliseconds reads a time; usual stands for no text.
func milliseconds(variable, text string, usual time.Duration) (time.Duration, error) {
	if text == "" {
		return usual, nil
	}
	ms, err := strconv.ParseInt(text, 10, 32)
	if err != nil || ms <= 0 {
		return 0, fmt.Errorf("read %s: %q is no time; give milliseconds, such as 10000", variable, text)
	}
	return time.Duration(ms) * time.Millisecond, nil
}
