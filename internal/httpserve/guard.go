package httpserve

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// guarded refuses requests that a browser was made to send. A page whose name an attacker
// lets point here (DNS rebinding) has that name in Host; any other page has its own
// in Origin.
func (s *Server) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		if !s.calledBy(r.Host) {
			http.Error(w, fmt.Sprintf("The server is not called %.100q; --http-hosts allows names.", r.Host), http.StatusForbidden)
			return
		}
		if origin := r.Header.Get("Origin"); origin != "" && !s.sameOrigin(r, origin) && !slices.Contains(s.o.Origins, origin) {
			http.Error(w, fmt.Sprintf("Pages of %.100q may not use this server; --http-origins allows some.", origin), http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// calledBy reports whether a Host is one of the server's: an address, which cannot be
// pointed elsewhere, localhost, a name that was configured, or none, as the checks of
// load balancers in HTTP/1.0 have it and no browser.
func (s *Server) calledBy(host string) bool {
	if host == "" {
		return true
	}
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	if _, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil {
		return true
	}
	is := func(other string) bool { return strings.EqualFold(name, other) }
	return is("localhost") || slices.ContainsFunc(s.o.Hosts, is)
}

// sameOrigin reports whether an origin is that of the server's own pages: of the name by
// which it is called, or on loopback, where the port is what tells servers apart, of another.
// A browser leaves a scheme's own port out, which a client may have in Host.
func (s *Server) sameOrigin(r *http.Request, origin string) bool {
	scheme, host, _ := strings.Cut(origin, "://")
	if scheme != "https" && (scheme != "http" || s.tls != nil) {
		return false
	}
	split := func(host string) (name, port string) {
		name, port, err := net.SplitHostPort(host)
		if err != nil {
			name, port = strings.Trim(host, "[]"), map[string]string{"http": "80", "https": "443"}[scheme]
		}
		if ip, err := netip.ParseAddr(name); strings.EqualFold(name, "localhost") || err == nil && ip.IsLoopback() {
			name = "localhost"
		}
		return strings.ToLower(name), port
	}
	theirName, theirPort := split(host)
	ownName, ownPort := split(r.Host)
	return theirName == ownName && theirPort == ownPort
}

// cors lets pages of allowed origins use /mcp.
func (s *Server) cors(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if origin := r.Header.Get("Origin"); slices.Contains(s.o.Origins, origin) {
			h := w.Header()
			h.Set("Access-Control-Allow-Origin", origin)
			h.Add("Vary", "Origin")
			h.Set("Access-Control-Expose-Headers", "Mcp-Session-Id, WWW-Authenticate")
			if r.Method == http.MethodOptions {
				h.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
				h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Mcp-Session-Id, Mcp-Protocol-Version, Last-Event-ID, Mcp-Method, Mcp-Name, Traceparent")
				h.Set("Access-Control-Max-Age", "600")
				w.WriteHeader(http.StatusNoContent)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// bounded refuses a request whose body does not fit beside those that are in memory.
func (s *Server) bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		const most = 32 << 20 // of one, which package server checks
		size := r.ContentLength
		if size < 0 || size > most {
			size = most
		}
		if !s.bodies.TryAcquire(size) {
			w.Header().Set("Retry-After", "1")
			http.Error(w, "The server has too many large requests in memory; try again later.", http.StatusServiceUnavailable)
			return
		}
		defer s.bodies.Release(size)
		next.ServeHTTP(w, r)
	})
}

// statusWriter remembers the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// watched counts and traces requests.
func (s *Server) watched(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// What nobody reads of a body is skipped at the end, but not for ever.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTime))
		out := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		ctx, end := s.tracer.request(r)
		next.ServeHTTP(out, r.WithContext(ctx))
		s.metrics.request(r, out.status)
		end(out.status)
	})
}
