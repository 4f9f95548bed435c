package server

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"coderunner/runners"
)

const (
	// maxStreams bounds the sessions of a client that are remembered. One that is
	// forgotten begins anew when it is used: its id says what must be known.
	maxStreams = 256
	// maxEnded bounds the ids of ended sessions that are remembered.
	maxEnded = 4096
	// maxSealed bounds an id, in bytes.
	maxSealed = 1024
)

// streams are the sessions of a client over HTTP.
type streams struct {
	key []byte

	mu    sync.Mutex
	clock int
	open  map[string]*stream // by the part of the id that is random
	ended map[string]bool
	// Of requests that are being answered:
	requests, bytes int
}

// stream is a session over HTTP, or one request of the revision that has none.
type stream struct {
	*conn
	sealed sealed
	users  int // requests; guarded by streams.mu, as is what follows
	used   int // value of clock when it was last used
}

// sealed is what the id of a session says. It is the client's to keep, and it is
// believed because it is signed: a server behind the same load balancer takes over a
// session that it has never seen.
type sealed struct {
	ID     string `json:"i"`
	Name   string `json:"n,omitempty"` // of the client's program
	Shows  bool   `json:"a,omitempty"` // it shows pages: see apps.go
	Asks   bool   `json:"q,omitempty"` // it asks its user: see ask.go
	Client string `json:"-"`           // whose it is
}

// sign returns the signature of an encoded session of a client.
func (t *streams) sign(client, body string) string {
	mac := hmac.New(sha256.New, t.key)
	mac.Write([]byte(client + "\x00" + body))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// seal returns the id of a session for its client.
func (t *streams) seal(x *stream, client string) string {
	x.sealed.Name = runners.Clip(x.peer.GetClientInfo().Name, 64)
	can := x.peer.GetClientCapabilities()
	x.sealed.Shows, x.sealed.Asks = showsApps(can), elicits(can)
	body, _ := json.Marshal(x.sealed) // strings
	text := base64.RawURLEncoding.EncodeToString(body)
	return text + "." + t.sign(client, text)
}

// unseal reads an id, which must be one of the client's.
func (t *streams) unseal(client, id string) (s sealed, ok bool) {
	text, signature, _ := strings.Cut(id, ".")
	if len(id) > maxSealed || !hmac.Equal([]byte(signature), []byte(t.sign(client, text))) {
		return s, false
	}
	body, err := base64.RawURLEncoding.DecodeString(text)
	return s, err == nil && json.Unmarshal(body, &s) == nil && s.ID != ""
}

// resume makes a session what the handshake made it, which another server heard.
func (x *stream) resume() {
	x.peer.SetClientInfo(mcp.Implementation{Name: x.sealed.Name})
	var can mcp.ClientCapabilities
	if x.sealed.Shows {
		can.Extensions = map[string]any{appExtension: map[string]any{"mimeTypes": []any{appMIME}}}
	}
	if x.sealed.Asks {
		can.Elicitation = &mcp.ElicitationCapability{}
	}
	x.peer.SetClientCapabilities(can)
	x.peer.Initialize()
}

// add remembers a session, and forgets the one that was unused longest if there are
// too many. t.mu is held.
func (t *streams) add(x *stream) {
	t.open[x.sealed.ID] = x
	var oldest *stream
	for _, other := range t.open {
		if len(t.open) > maxStreams && other.users == 0 && (oldest == nil || other.used < oldest.used) {
			oldest = other
		}
	}
	if oldest != nil {
		delete(t.open, oldest.sealed.ID)
	}
}

func (t *streams) release(x *stream) {
	t.mu.Lock()
	defer t.mu.Unlock()
	x.users--
}

// end ends a session of a client and cancels its requests. It reports whether there was one.
func (t *streams) end(client, id string) bool {
	known, ok := t.unseal(client, id)
	t.mu.Lock()
	defer t.mu.Unlock()
	if !ok || t.ended[known.ID] {
		return false
	}
	if len(t.ended) >= maxEnded {
		clear(t.ended)
	}
	t.ended[known.ID] = true
	if x := t.open[known.ID]; x != nil {
		delete(t.open, known.ID)
		x.mu.Lock()
		defer x.mu.Unlock()
		for _, req := range x.requests {
			req.cancel()
		}
	}
	return true
}

// enter counts a request, unless its client has too many.
func (t *streams) enter(size int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.requests >= maxPending || t.bytes+size > maxPendingBytes {
		return false
	}
	t.requests++
	t.bytes += size
	return true
}

// shrink takes notice that a request has fewer bytes than it was entered with.
func (t *streams) shrink(entered, size int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.bytes -= entered - size
}

func (t *streams) leave(size int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.requests--
	t.bytes -= size
}

// sessionHeader names a session, in the protocol.
const sessionHeader = "Mcp-Session-Id"
