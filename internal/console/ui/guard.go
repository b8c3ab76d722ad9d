package ui

import (
	"crypto/subtle"
	"net"
	"net/http"
	"strings"
	"time"
)

// policy is the content security policy of all answers: a page may load what this server has, and talk to it.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

// guard lets only those requests pass that come to this server on purpose. Who asks is checked by the routes.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		control := http.NewResponseController(w)
		_ = control.SetReadDeadline(time.Now().Add(readPatience)) // without deadlines a request still works
		_ = control.SetWriteDeadline(time.Now().Add(writePatience))
		bearer := r.URL.Path == "/metrics" && s.MetricsToken != nil // no browser has it
		switch {
		case !bearer && !s.called(r):
			refuse(w, http.StatusForbidden, "this server has another name; call it by the address that loadctl ui prints, or add --allow-host NAME")
		case s.origins.Check(r) != nil:
			refuse(w, http.StatusForbidden, "the request comes from a page of another server")
		case !plainPath(r.URL.Path):
			refuse(w, http.StatusNotFound, "there is no such page")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// called tells whether a request names this server. A page of an attacker whose name was made to point here (DNS
// rebinding) names the attacker's server.
func (s *Server) called(r *http.Request) bool {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if s.hosts[host] {
		return true
	}
	// The number of the address that the request came in at cannot be made to point elsewhere.
	ip := net.ParseIP(host)
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return ip != nil && ok && local.IP.Equal(ip)
}

// plainPath tells whether a path goes only down.
func plainPath(path string) bool {
	if !strings.HasPrefix(path, "/") || strings.ContainsAny(path, "\\\x00") || strings.Contains(path, "//") {
		return false
	}
	for part := range strings.SplitSeq(path, "/") {
		if part == ".." || part == "." {
			return false
		}
	}
	return true
}

// known lets only requests of a session pass.
func (s *Server) known(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if s.sessions.valid(r) {
			next(w, r)
			return
		}
		if r.URL.Path != "/" {
			refuse(w, http.StatusUnauthorized, "this browser is not logged in; open the address that loadctl ui prints")
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(http.StatusUnauthorized)
		again := ""
		if r.Header.Get("Sec-Fetch-Site") == "cross-site" { // a link led here: then browsers keep a strict cookie back
			again = `<meta http-equiv="refresh" content="0;url=/">`
		}
		_, _ = w.Write([]byte("<!DOCTYPE html><html lang=\"en\"><meta charset=\"utf-8\"><title>loadctl</title>" + again +
			"<p>This browser is not logged in. Open the address that loadctl ui prints: it works once.</p></html>\n"))
	}
}

// login takes a one-time token, and gives the browser a session.
func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	switch {
	case s.sessions.spend(r.URL.Query().Get("token")):
		http.SetCookie(w, s.sessions.cookie(s.secure))
		s.announce()
	case !s.sessions.valid(r): // a browser that is logged in may open the address again
		refuse(w, http.StatusUnauthorized, "this address is used up or wrong; open the newest one that loadctl ui prints")
		return
	}
	w.Header().Set("Location", "/")
	w.WriteHeader(http.StatusSeeOther)
}

// metrics lets those read /metrics who may.
func (s *Server) metrics(next http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch {
		case s.MetricsToken != nil:
			token, err := s.MetricsToken()
			if err != nil {
				refuse(w, http.StatusServiceUnavailable, "the file of --metrics-token-file cannot be read")
				return
			}
			given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
			if !ok || subtle.ConstantTimeCompare([]byte(given), []byte(token)) != 1 {
				w.Header().Set("WWW-Authenticate", "Bearer")
				refuse(w, http.StatusUnauthorized, "send the token of --metrics-token-file: Authorization: Bearer TOKEN")
				return
			}
		case !s.loopback:
			refuse(w, http.StatusForbidden, "metrics of a server that others can reach need a token; start loadctl ui with --metrics-token-file")
			return
		}
		next.ServeHTTP(w, r)
	}
}
