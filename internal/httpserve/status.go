package httpserve

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"
)

//go:embed page/page.html
var pageHTML string

//go:embed page/style.css
var pageStyle string

//go:embed page/page.js
var pageScript string

// pageText is the page, and pagePolicy what it may do: its own style and script, and
// asking this server.
var pageText = strings.NewReplacer("/* style.css */", pageStyle, "// page.js", pageScript).Replace(pageHTML)

func pagePolicy() string {
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; connect-src 'self'; style-src " +
		hash(pageStyle) + "; script-src " + hash(pageScript)
}

// page shows what happens to a person.
func (s *Server) page(w http.ResponseWriter, _ *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", pagePolicy())
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	_, _ = io.WriteString(w, pageText) // a client that has gone
}

// status is what the page shows: sums over all clients, and the runs of the one that asks.
func (s *Server) status(w http.ResponseWriter, r *http.Request) {
	client := tokenOf(r).Client
	running, waiting := s.clients.queue.Load()
	clients, sessions, requests := s.clients.counts()
	limits := s.o.MCP.Limits.WithDefaults()
	cache := ""
	if s.o.Cache != nil {
		cache = s.o.Cache(r.Context())
	}
	state := "ready"
	if s.draining.Load() {
		state = "ending"
	} else if s.o.Ready != nil {
		if err := s.o.Ready(); err != nil {
			state = err.Error()
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(map[string]any{ // a client that has gone
		"version": s.o.MCP.Version, "state": state, "up_seconds": int(time.Since(s.begun).Seconds()),
		"client": client, "runs": s.board.rows(client),
		"places": s.clients.places(), "running": running, "waiting": waiting,
		"clients": clients, "mcp_sessions": sessions, "requests": requests, "kept_bytes": s.clients.kept.Bytes(),
		"limits":      map[string]any{"timeout_seconds": limits.Timeout.Seconds(), "memory_bytes": limits.Memory, "output_bytes": limits.Output},
		"permissions": append([]string{}, s.o.MCP.Policy.Args...), "isolation": s.o.MCP.Isolation, "offline": s.o.MCP.Offline,
		"cache": cache,
	})
}
