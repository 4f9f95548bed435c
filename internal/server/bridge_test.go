package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// bridge speaks Streamable HTTP for tests and hands each message to the stdio
// transport as a line: one connection for each session, and, in revision
// 2026-07-28, one for each request. Statuses, streams and session ids are its
// own; what the messages are is the transport's.
type bridge struct {
	server func() *Server // a new one: it serves one connection

	mu       sync.Mutex
	next     int
	backends map[string]*backend // by session id
}

// backend is one connection of the stdio transport.
type backend struct {
	in     *io.PipeWriter
	closed chan struct{}

	mu      sync.Mutex
	waiting map[string]chan []byte // by the request's id
}

func (b *bridge) dial() *backend {
	s := b.server()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	k := &backend{in: inW, closed: make(chan struct{}), waiting: map[string]chan []byte{}}
	go func() {
		_ = s.ServeStdio(context.Background(), inR, outW)
		outW.Close()
	}()
	go k.route(bufio.NewReader(outR))
	return k
}

// route hands what the server writes to whom it belongs: a response by its id,
// anything else to every request in progress.
func (k *backend) route(out *bufio.Reader) {
	defer close(k.closed)
	for {
		line, err := out.ReadBytes('\n')
		if err != nil {
			return
		}
		var m struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.Unmarshal(line, &m)
		k.mu.Lock()
		for id, c := range k.waiting {
			if m.Method != "" || id == string(m.ID) || string(m.ID) == "null" {
				c <- line
			}
		}
		k.mu.Unlock()
	}
}

func (k *backend) end() {
	k.in.Close()
	<-k.closed
}

func (b *bridge) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, k := range b.backends {
		k.end()
	}
}

func (b *bridge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	session := r.Header.Get("Mcp-Session-Id")
	b.mu.Lock()
	k := b.backends[session]
	b.mu.Unlock()
	if r.Method == http.MethodDelete && k != nil {
		b.mu.Lock()
		delete(b.backends, session)
		b.mu.Unlock()
		k.end()
		return
	}
	if r.Method != http.MethodPost {
		http.Error(w, "POST only", http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxLine))
	var line bytes.Buffer
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct {
			Meta map[string]any `json:"_meta"`
		}
	}
	if err != nil || json.Compact(&line, body) != nil || json.Unmarshal(body, &m) != nil {
		http.Error(w, "not JSON", http.StatusBadRequest)
		return
	}
	_, named := m.Params.Meta["io.modelcontextprotocol/protocolVersion"]
	modern := named || strings.HasPrefix(r.Header.Get("MCP-Protocol-Version"), "2026")
	switch {
	case modern:
		k = b.dial()
		defer k.end()
	case m.Method == "initialize":
		k = b.dial()
		b.mu.Lock()
		b.next++
		session = fmt.Sprintf("session-%d", b.next)
		b.backends[session] = k
		b.mu.Unlock()
		w.Header().Set("Mcp-Session-Id", session)
	case session == "":
		http.Error(w, "no session", http.StatusBadRequest)
		return
	case k == nil:
		http.Error(w, "no such session", http.StatusNotFound)
		return
	}
	answers := make(chan []byte, 1000)
	if m.ID != nil {
		k.mu.Lock()
		k.waiting[string(m.ID)] = answers
		k.mu.Unlock()
		defer func() {
			k.mu.Lock()
			delete(k.waiting, string(m.ID))
			k.mu.Unlock()
		}()
	}
	line.WriteByte('\n')
	if _, err := k.in.Write(line.Bytes()); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if m.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	answer(w, r, answers, modern)
}

// answer writes what comes for a request: the response as JSON if it comes
// first, else a stream of events that ends with it.
func answer(w http.ResponseWriter, r *http.Request, lines <-chan []byte, modern bool) {
	for first := true; ; first = false {
		var line []byte
		select {
		case line = <-lines:
		case <-r.Context().Done():
			return
		}
		var m struct {
			Method string
			Error  *struct{ Code int }
		}
		_ = json.Unmarshal(line, &m)
		if first && m.Method == "" {
			w.Header().Set("Content-Type", "application/json")
			if m.Error != nil && modern {
				status := http.StatusBadRequest
				if m.Error.Code == -32601 {
					status = http.StatusNotFound
				}
				w.WriteHeader(status)
			}
			_, _ = w.Write(line)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "event: message\ndata: %s\n", line)
		w.(http.Flusher).Flush()
		if m.Method == "" {
			return
		}
	}
}
