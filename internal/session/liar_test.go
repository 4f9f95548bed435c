package session_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"coderunner/internal/session"
	"coderunner/runners"
)

// liar is a store whose answers are not what was put there.
type liar struct {
	*memory
	lie  func(key string, data []byte) io.Reader // nil: the truth
	read atomic.Int64                            // bytes of lies that were read
}

func (l *liar) Get(ctx context.Context, key string) (io.ReadCloser, string, error) {
	r, tag, err := l.memory.Get(ctx, key)
	if err != nil || l.lie == nil {
		return r, tag, err
	}
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, "", err
	}
	if lie := l.lie(key, data); lie != nil {
		return io.NopCloser(counting{lie, &l.read}), tag, nil
	}
	return io.NopCloser(bytes.NewReader(data)), tag, nil
}

type counting struct {
	io.Reader
	n *atomic.Int64
}

func (c counting) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// endless never ends.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// TestRemoteLies has a store answer with what is cut off, changed, endless, old or another
// tenant's, for each kind of object: a session is what it was once, or there is an error;
// nothing of the other tenant is in it, and what is read has a bound.
func TestRemoteLies(t *testing.T) {
	other := func(m *memory, key string) []byte { // the same object of bob's session
		parts := strings.Split(key, "/")
		var best []byte
		for name, o := range m.objects {
			p := strings.Split(name, "/")
			if p[0] == "bob" && len(p) == len(parts) && (len(p) < 4 || p[len(p)-2] == parts[len(parts)-2]) && (len(p) < 4 || p[len(p)-2] != "states" || p[len(p)-1] == parts[len(parts)-1]) {
				best = o.data
			}
		}
		return best
	}
	old := map[string][]byte{}
	lies := map[string]func(m *memory, key string, data []byte) io.Reader{
		"cut off": func(_ *memory, _ string, data []byte) io.Reader { return bytes.NewReader(data[:len(data)/2]) },
		"empty":   func(*memory, string, []byte) io.Reader { return strings.NewReader("") },
		"changed": func(_ *memory, _ string, data []byte) io.Reader {
			b := bytes.Clone(data)
			b[len(b)/2] ^= 1
			return bytes.NewReader(b)
		},
		"longer": func(_ *memory, _ string, data []byte) io.Reader {
			return io.MultiReader(bytes.NewReader(data), strings.NewReader("x"))
		},
		"endless": func(*memory, string, []byte) io.Reader { return endless{} },
		"another tenant's": func(m *memory, key string, _ []byte) io.Reader {
			if b := other(m, key); b != nil {
				return bytes.NewReader(b)
			}
			return nil
		},
		"old": func(_ *memory, key string, _ []byte) io.Reader {
			if b := old[key]; b != nil {
				return bytes.NewReader(b)
			}
			return nil
		},
	}
	for name, lie := range lies {
		for _, kind := range []string{"head", "/states/", "/blobs/"} {
			m := newMemory()
			honest := open(t, session.Options{Remote: m, Namespace: "alice"})
			call(t, honest, "s", add("a"))
			clear(old)
			for key, o := range m.objects {
				old[key] = o.data
			}
			call(t, honest, "s", add("b"))
			bob := open(t, session.Options{Remote: m, Namespace: "bob"})
			for range 2 {
				if _, err := bob.Run(t.Context(), session.Call{Session: "s", Request: runners.Request{Language: runners.Python, Code: "secret = 1"}}, add("secret").run); err != nil {
					t.Fatal(err)
				}
			}
			m.mu.Lock()
			l := &liar{memory: m}
			m.mu.Unlock()
			told := 0
			l.lie = func(key string, data []byte) io.Reader {
				if !strings.HasPrefix(key, "alice/") || !strings.Contains(key, kind) {
					return nil
				}
				r := lie(m, key, data)
				if r != nil {
					told++
				}
				return r
			}
			fresh := open(t, session.Options{Remote: l, Namespace: "alice"})
			var seen []string
			look := fake(func(variables string, files map[string]string) (string, runners.Status) {
				seen = append(seen, variables, files["log"])
				return variables, runners.Failed
			})
			_, err := fresh.Run(t.Context(), session.Call{Session: "s", Rollback: true, Request: runners.Request{Language: runners.Python}}, look.run)
			file, _ := fresh.ReadFile(t.Context(), "s", "log")
			info, _ := fresh.Describe("s")
			all := strings.Join(seen, " ") + string(file) + fmt.Sprint(info)
			if strings.Contains(all, "secret") || err == nil && len(seen) != 2 {
				t.Errorf("%s, %s: it sees %q, %v", name, kind, all, err)
			}
			for _, text := range seen {
				if text != "" && text != "a" && text != "ab" {
					t.Errorf("%s, %s: it sees %q, %v", name, kind, seen, err)
				}
			}
			if n := l.read.Load(); n > 128<<20 {
				t.Errorf("%s, %s: %d bytes were read", name, kind, n)
			}
			if told == 0 && name != "old" {
				t.Errorf("%s, %s: there was no lie", name, kind)
			}
		}
	}
}
