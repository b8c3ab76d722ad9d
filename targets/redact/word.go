package redact

import "bytes"

// words looks for what authorizes by itself: Bearer abc, JSON Web Tokens, and private keys.
func (f *finder) words() {
	for i := 0; i < len(f.text); i++ {
		switch c := f.text[i] | 0x20; {
		case c == 'e' && bytes.HasPrefix(f.text[i:], []byte("eyJ")):
			end := i
			for end < len(f.text) && isTokenByte(f.text[end]) {
				end++
			}
			if token := f.text[i:end]; len(token) >= 10 && (bytes.IndexByte(token, '.') > 0 || end == len(f.text)) {
				f.hide(nil, i, end)
			}
			i = end
		case c == '-' && bytes.HasPrefix(f.text[i:], []byte(beginKey)):
			i = f.privateKey(i + len(beginKey))
		case (c == 'b' || c == 'n' || c == 't' || c == 'a' || c == 'd') && (i == 0 || !isNameByte(f.text[i-1])):
			i = f.scheme(i)
		}
	}
}

// beginKey begins the first line of a key in the format PEM.
const beginKey = "-----BEGIN "

// privateKey hides a private key (RFC 7468) whose name begins at i. It returns where to go on.
func (f *finder) privateKey(i int) int {
	name, _, found := bytes.Cut(f.text[i:min(i+longName, len(f.text))], []byte("-----"))
	if !found || !bytes.HasSuffix(name, []byte("PRIVATE KEY")) && !bytes.HasSuffix(name, []byte("PRIVATE KEY BLOCK")) {
		return i
	}
	from, to := i+len(name)+len("-----"), len(f.text)
	if n := bytes.Index(f.text[from:], []byte("-----END")); n >= 0 {
		to = from + n
	}
	f.hideSome(nil, from, to, false, false) // another copy has its own first line
	return to
}

// scheme hides what follows the name of a way to authorize, which may begin at i. It returns where it has looked.
func (f *finder) scheme(i int) int {
	end := i
	for end < len(f.text) && end-i < 20 && isNameByte(f.text[end]) {
		end++
	}
	if end == len(f.text) || f.text[end] != ' ' || !isScheme(string(f.text[i:end])) {
		return i
	}
	from := end + 1
	to := from
	for to < len(f.text) && (isTokenByte(f.text[to]) || f.text[to] == '~' || f.text[to] == '+' || f.text[to] == '/' || f.text[to] == '=') {
		to++
	}
	if token := f.text[from:to]; len(token) >= 8 && bytes.IndexByte(bytes.TrimRight(token, "="), '=') < 0 && looksRandom(token) {
		f.hide(nil, from, to)
	}
	return end
}

// looksRandom reports whether a text is not a word of a language, as in "basic authentication".
func looksRandom(token []byte) bool {
	for i, c := range token {
		if c >= '0' && c <= '9' || i > 0 && c >= 'A' && c <= 'Z' {
			return true
		}
	}
	return len(token) >= 24
}

// isTokenByte reports whether a byte may be part of a JSON Web Token.
func isTokenByte(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c == '-' || c == '.'
}

// logins looks for user and password in URLs.
func (f *finder) logins() {
	for i := 0; ; {
		n := bytes.Index(f.text[i:], []byte("://"))
		if n < 0 {
			return
		}
		from := i + n + len("://")
		i = from
		for i < len(f.text) && bytes.IndexByte([]byte("/?#\\\"'<> \t\r\n"), f.text[i]) < 0 {
			i++
		}
		at := bytes.LastIndexByte(f.text[from:i], '@')
		if at < 0 && i == len(f.text) && f.d.body {
			at = bytes.IndexByte(f.text[from:i], ':') // maybe a login that is cut off, maybe a port
			if at < 0 || portLike(f.text[from+at+1:i]) {
				continue
			}
			at = i - from
		}
		if at < 0 {
			continue
		}
		login := f.text[from : from+at]
		f.known.login(string(login))
		f.known.add(string(login), false)
		f.hideSome(nil, from, from+at, false, false)
	}
}

// portLike reports whether a text has only digits.
func portLike(b []byte) bool {
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}
