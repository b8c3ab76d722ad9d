// Package redact takes secrets out of exchanges, so that they can be stored and shown to anybody.
//
//	r := redact.New(spec, []string{"X-Tenant"})
//	sent, came := r.Exchange(exchange, redact.Known{Taken: session.Taken(), Names: spec.Taken()})
//
// It finds secrets in two ways. By name: the values of headers that are not known to be harmless; members, parameters,
// form fields, elements and cookies whose names tell of a secret (targets.SecretName) or were given; credentials of
// URLs; words such as Bearer with what follows; JSON Web Tokens. By value: whatever was found by name, was taken by the
// flow or authorizes the requests is masked wherever else it stands in the exchange, if it has at least 4 bytes: as it
// is, escaped for a URL, JSON or HTML (up to three times), in base64 or in hexadecimal digits.
//
// Guarantees: it never panics, its time is linear in the length of an exchange, and a value that is cut off is masked
// to the end. JSON keeps its layout: only bytes of values are replaced. Where it cannot look, it shows nothing: a body
// that is compressed is replaced as a whole.
//
// What stays readable although its name tells of a secret: true, false, null, an empty text, and numbers that count
// (tokens, count, limit, timeout, and so on). Not here: secrets in a path, or in text that names nothing.
package redact
