package targets

import (
	"testing"
)

// TestSecretNames: one rule for headers, fields, parameters and columns.
func TestSecretNames(t *testing.T) {
	for _, name := range []string{"Authorization", "Proxy-Authorization", "Cookie", "X-Api-Key", "x-apikey", "accessKey", "X-CSRF-Token", "password", "user_passwd", "userPass", "pwd", "pw",
		"client_secret", "sessionId", "sid", "refreshToken", "oauth", "X-Amz-Signature", "credentials", "key", "PIN", `{"idempotencyKey":"1","pw":"2"}`} {
		if !SecretName(name) {
			t.Errorf("%s is no secret", name)
		}
	}
	for _, name := range []string{"", "Accept", "Content-Type", "Idempotency-Key", "idempotencyKey", ":authority", "author", "X-Author-Id", "keyword", "monkey", "passenger", "pinned", "X-Request-Id", "inside"} {
		if SecretName(name) {
			t.Errorf("%s is a secret", name)
		}
	}
}
