package wire

import (
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/proof/rpctest"
	"github.com/loadctl/loadctl/targets"
)

// TestGRPCSpec: a spec that cannot be called is a clear error.
func TestGRPCSpec(t *testing.T) {
	for want, more := range map[string]func(*targets.Spec){
		"url: the path is no method; write grpc://HOST:PORT/package.Service/Method":                                                  func(s *targets.Spec) { s.URL = "grpc://h" },
		"url: there is no service \"a.B\"; there is grpc.testing.HookService, grpc.testing.LoadBalancerStatsService":                 func(s *targets.Spec) { s.URL = "grpc://h/a.B/C" },
		"has no method \"C\"; it has EmptyCall, UnaryCall":                                                                           func(s *targets.Spec) { s.URL = "grpc://h" + rpctest.Path + "C" },
		"url: the method has no placeholders":                                                                                        func(s *targets.Spec) { s.URL = "grpc://h" + rpctest.Path + "${ordinal}" },
		"url: grpc has neither ? nor #":                                                                                              func(s *targets.Spec) { s.URL += "?x" },
		"body: message grpc.testing.SimpleRequest has no field \"size\" at line 1, column 2; it has responseType, responseSize":      func(s *targets.Spec) { s.Body = []byte(`{"size": 1}`) },
		"body: message grpc.testing.SimpleRequest has no field \"sice\"":                                                             func(s *targets.Spec) { s.Body = []byte(`{"sice": ${ordinal}}`) },
		"body: message grpc.testing.SimpleRequest: the text is not a JSON object":                                                    func(s *targets.Spec) { s.Body = []byte(`hunter2`) },
		"body: message grpc.testing.SimpleRequest: the value at line 1, column 18 does not fit the field responseSize of kind int32": func(s *targets.Spec) { s.Body = []byte(`{"responseSize": "hunter2"}`) },
		"method: that of gRPC is the path of the URL":                                                                                func(s *targets.Spec) { s.Method = "GET" },
		"header Grpc-Timeout: gRPC sets it itself":                                                                                   func(s *targets.Spec) { s.Headers = []targets.Header{{Name: "Grpc-Timeout", Value: "1S"}} },
		"header x-bin: the value is no base64":                                                                                       func(s *targets.Spec) { s.Headers = []targets.Header{{Name: "x-bin", Value: "hunter2!"}} },
		"expect: \"200\" is not a status of gRPC; write one of OK, CANCELLED":                                                        func(s *targets.Spec) { s.Expect = "200" },
		"check: no status of gRPC passes the check; write names, such as status OK,NOT_FOUND":                                        func(s *targets.Spec) { s.Checks = []string{"status 200"} },
		"redirects: only http and https":                                                                                             func(s *targets.Spec) { s.Redirects = 1 },
		"http: gRPC needs HTTP/2":                                                                                                    func(s *targets.Spec) { s.HTTP = "1.1" },
		"uses it; leave it out":                                                                                                      func(s *targets.Spec) { s.HTTP = targets.HTTP3 },
		"auth: sigv4 signs requests of HTTP":                                                                                         func(s *targets.Spec) { s.Auth = "sigv4:region=r,service=s,access_key=a,secret_key=@f" },
		"descriptors: they are no FileDescriptorSet":                                                                                 func(s *targets.Spec) { s.Descriptors = []byte("hunter2") },
		"descriptors: the method is not described":                                                                                   func(s *targets.Spec) { s.Descriptors = nil },
		"descriptors: 2000000 bytes are more than 1024 KiB":                                                                          func(s *targets.Spec) { s.Descriptors = make([]byte, 2_000_000) },
	} {
		s := targets.Spec{URL: "grpc://h" + rpctest.Path + "UnaryCall", Descriptors: rpctest.Descriptors(t)}
		more(&s)
		_, err := New(s, targets.Local{})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
