package server

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"
)

// Bounds of what is kept of earlier runs for resources/read.
const (
	maxKeptRuns  = 30
	maxKeptBytes = 96 << 20
)

// metaPrefix begins the names of our fields in _meta.
const metaPrefix = "coderunner/"

// store keeps what the last runs left (files, displays, output that was cut) as
// resources of the server, and forgets the oldest runs first.
type store struct {
	prefix string // differs between servers, so that no URI of another one means something here
	mcp    *mcpserver.MCPServer
	shared *Kept

	mu    sync.Mutex
	next  int
	runs  []*keptRun // the oldest first
	bytes int
}

// maxSharedBytes bounds what the stores that share a process keep together.
const maxSharedBytes = 4 * maxKeptBytes

// Kept bounds what several servers keep together of earlier runs. The zero value is
// ready to use.
type Kept struct {
	mu     sync.Mutex
	bytes  int
	stores map[*store]int
}

// count takes notice of the bytes of a store, and has the largest forget a run while there
// is too much.
func (k *Kept) count(s *store, bytes int) {
	for s != nil {
		k.mu.Lock()
		if k.stores == nil {
			k.stores = map[*store]int{}
		}
		k.bytes += bytes - k.stores[s]
		if k.stores[s] = bytes; bytes == 0 {
			delete(k.stores, s)
		}
		var largest *store
		for other, n := range k.stores {
			if k.bytes > maxSharedBytes && (largest == nil || n > k.stores[largest]) {
				largest = other
			}
		}
		k.mu.Unlock()
		if s = largest; s != nil {
			bytes = s.forget()
		}
	}
}

// Bytes returns how much is kept.
func (k *Kept) Bytes() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.bytes
}

// forget drops the oldest run and returns how many bytes are left.
func (s *store) forget() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop()
	return s.bytes
}

// drop removes the oldest run, if any. s.mu is held.
func (s *store) drop() {
	if len(s.runs) == 0 {
		return
	}
	old := s.runs[0]
	s.runs, s.bytes = slices.Delete(s.runs, 0, 1), s.bytes-old.bytes // [1:] would keep it in memory
	for _, it := range old.items {
		s.mcp.DeleteResources(it.uri)
	}
}

// keptRun is what is kept of one run.
type keptRun struct {
	id    string
	items []item
	bytes int
}

// item is one resource.
type item struct {
	uri, name, mime, sha256 string
	data                    []byte
}

// begin returns an empty run, which keep adds to the store.
func (s *store) begin() *keptRun {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next++
	return &keptRun{id: fmt.Sprintf("%s-%d", s.prefix, s.next)}
}

// Keep is for [answer.Resources]. The name may have slashes.
func (r *keptRun) Keep(name, mime, sha256 string, data []byte) string {
	uri := (&url.URL{Scheme: "runner", Host: "runs", Path: "/" + r.id + "/" + name}).String()
	r.items = append(r.items, item{uri, name, mime, sha256, data})
	r.bytes += len(data)
	return uri
}

// keep adds a run, and removes the oldest while there is too much.
func (s *store) keep(r *keptRun) {
	if len(r.items) == 0 {
		return
	}
	resources := make([]mcpserver.ServerResource, len(r.items))
	for i, it := range r.items {
		size := int64(len(it.data))
		res := mcp.Resource{URI: it.uri, Name: it.name, MIMEType: it.mime, Size: &size, Meta: digestMeta(it.sha256)}
		resources[i] = mcpserver.ServerResource{Resource: res, Handler: it.read}
	}
	s.mu.Lock()
	s.mcp.AddResources(resources...)
	s.runs, s.bytes = append(s.runs, r), s.bytes+r.bytes
	for len(s.runs) > 1 && (len(s.runs) > maxKeptRuns || s.bytes > maxKeptBytes) {
		s.drop()
	}
	bytes := s.bytes
	s.mu.Unlock()
	s.shared.count(s, bytes)
}

// data returns what a URI of this store stands for.
func (s *store) data(uri string) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.runs {
		for _, it := range r.items {
			if it.uri == uri {
				return it.data, true
			}
		}
	}
	return nil, false
}

// read is the handler of resources/read.
func (it item) read(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
	if utf8.Valid(it.data) && !strings.HasPrefix(it.mime, "image/") {
		return []mcp.ResourceContents{mcp.TextResourceContents{URI: it.uri, MIMEType: it.mime, Text: string(it.data)}}, nil
	}
	return []mcp.ResourceContents{mcp.BlobResourceContents{URI: it.uri, MIMEType: it.mime, Blob: base64.StdEncoding.EncodeToString(it.data)}}, nil
}

// digestMeta returns the _meta of a resource with a digest, or nil.
func digestMeta(sha256 string) *mcp.Meta {
	if sha256 == "" {
		return nil
	}
	return &mcp.Meta{AdditionalFields: map[string]any{metaPrefix + "sha256": sha256}}
}
