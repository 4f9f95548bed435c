package session_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"coderunner/internal/sample"
	"coderunner/internal/session"
	"coderunner/runners"
)

// withBase is a program whose runner saves what many sessions share, too.
func withBase(data string) func(context.Context, runners.Request) (*runners.Outcome, error) {
	return func(ctx context.Context, req runners.Request) (*runners.Outcome, error) {
		if err := os.WriteFile(filepath.Join(req.Session.Save, runners.SavedBase), []byte(data), 0o600); err != nil {
			return nil, err
		}
		return add("x").run(ctx, req)
	}
}

func python(name string) session.Call {
	return session.Call{Session: name, Request: runners.Request{Language: runners.Python}}
}

// watched is a remote store in which pointers to shared blobs are counted by what
// becomes of them.
type watched struct {
	*memory
	mu    sync.Mutex
	last  map[string]string // by key: "", "copy" or "going"
	moves map[string]int
}

func newWatched() *watched {
	return &watched{memory: newMemory(), last: map[string]string{}, moves: map[string]int{}}
}

func (w *watched) Put(ctx context.Context, key string, data io.ReadSeeker, size int64, only session.Condition) (string, error) {
	b, err := io.ReadAll(data)
	if err != nil {
		return "", err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	tag, err := w.memory.Put(ctx, key, bytes.NewReader(b), size, only)
	if err == nil && path.Base(key) == "now" {
		var p struct {
			Copy  string
			Going bool
		}
		if err := json.Unmarshal(b, &p); err != nil {
			return "", err
		}
		state := "copy"
		if p.Going {
			state = "going"
		} else if p.Copy == "" {
			state = ""
		}
		w.moves[w.last[key]+">"+state]++
		w.last[key] = state
	}
	return tag, err
}

// missing returns the shared blob that a state needs and the store does not have, if any. A
// state that is gone needs none.
func (w *watched) missing(state string) string {
	w.memory.mu.Lock()
	defer w.memory.mu.Unlock()
	_, body, _ := bytes.Cut(w.objects[state].data, []byte("\n"))
	var s struct {
		Languages map[string]struct {
			Saved map[string]struct{ SHA256 string }
		}
	}
	_ = json.Unmarshal(body, &s)
	for _, l := range s.Languages {
		base, ok := l.Saved[runners.SavedBase]
		var p struct{ Copy string }
		_ = json.Unmarshal(w.objects["default/.bases/"+base.SHA256+"/now"].data, &p)
		if _, there := w.objects["default/.bases/"+base.SHA256+"/"+p.Copy]; ok && !there {
			return base.SHA256
		}
	}
	return ""
}

// newest returns the key of a session's newest state.
func (w *watched) newest(name string, n int) string {
	w.memory.mu.Lock()
	defer w.memory.mu.Unlock()
	var h struct{ Life string }
	_ = json.Unmarshal(w.objects["default/"+name+"/head"].data, &h)
	return fmt.Sprintf("default/%s/%s/states/%08d", name, h.Life, n)
}

// TestBases has servers make, fork and close sessions that share blobs, and collect these,
// while each request may take hours: what they answered never lacks a blob, and what
// nobody needs goes.
func TestBases(t *testing.T) {
	moves, seeds := map[string]int{}, make([]uint64, 400)
	for i := range seeds {
		seeds[i] = uint64(i)
	}
	for _, seed := range sample.Of(t, 400, seeds) {
		synctest.Test(t, func(t *testing.T) {
			w := newWatched()
			model(t, w, seed)
			for move, n := range w.moves {
				moves[move] += n
			}
		})
	}
	t.Log(moves)
}

func model(t *testing.T, w *watched, seed uint64) {
	var mu sync.Mutex
	answered := map[string]bool{}
	check := func(add string) {
		mu.Lock()
		defer mu.Unlock()
		if add != "" {
			answered[add] = true
		}
		for state := range answered {
			if sum := w.missing(state); sum != "" {
				t.Errorf("seed %d: %s needs %s, which is gone", seed, state, sum)
			}
		}
	}
	limits := session.Limits{TTL: time.Hour}
	var wg sync.WaitGroup
	for i := range 4 {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		slow := rand.New(rand.NewPCG(seed, uint64(100+i)))
		var slowMu sync.Mutex
		delay := func(_ context.Context, request string) error {
			slowMu.Lock()
			d := time.Duration(0)
			if (strings.Contains(request, ".bases") || strings.Contains(request, "/states/")) && slow.IntN(3) == 0 {
				d = time.Duration(slow.IntN(int(3 * time.Hour)))
			}
			slowMu.Unlock()
			time.Sleep(d)
			return nil
		}
		s := open(t, session.Options{Remote: &link{Remote: w, before: delay, after: delay}, Limits: limits})
		wg.Go(func() {
			for range 8 {
				time.Sleep(time.Duration(r.IntN(int(4 * time.Hour))))
				name, other := fmt.Sprintf("s%d-%d", i, r.IntN(2)), fmt.Sprintf("s%d-2", i)
				switch r.IntN(5) {
				case 0:
					_ = s.Close(t.Context(), name) // there may be none
				case 1:
					if s.Fork(t.Context(), name, other, 0) == nil {
						check(w.newest(other, 2))
					}
				default:
					out, err := s.Run(t.Context(), python(name), withBase("base"))
					if err != nil {
						t.Errorf("seed %d: %v", seed, err)
					} else if out.Continued.Kept {
						check(w.newest(name, out.Continued.State))
					}
				}
				check("")
			}
		})
	}
	wg.Wait()
	s := open(t, session.Options{Remote: w, Limits: limits})
	for range 4 {
		time.Sleep(3 * time.Hour)
		call(t, s, "last", add("x"))
		check("")
	}
	for key := range w.objects {
		if strings.Contains(key, ".bases") && path.Base(key) != "now" {
			t.Errorf("seed %d: %s is left", seed, key)
		}
	}
}

// A shared blob stays while a session needs it, however long ago it was made, and its
// sessions go on in other servers.
func TestBaseStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatched()
		limits := session.Limits{TTL: time.Hour}
		a, b := open(t, session.Options{Remote: w, Limits: limits}), open(t, session.Options{Remote: w, Limits: limits})
		for range 20 {
			for _, s := range []*session.Store{a, b} {
				if out, err := s.Run(t.Context(), python("s"), withBase("base")); err != nil || !out.Continued.Kept {
					t.Fatalf("%+v, %v", out, err)
				}
				time.Sleep(25 * time.Minute)
			}
		}
		if w.moves["going>copy"] == 0 || w.moves["going>"] > 0 {
			t.Errorf("the blob was looked at: %v", w.moves)
		}
		if got := show(t, open(t, session.Options{Remote: w}), "s"); !strings.HasPrefix(got, strings.Repeat("x", 40)+" ") {
			t.Errorf("it is %q", got)
		}
		w.memory.mu.Lock()
		for key := range w.objects {
			if strings.Contains(key, ".bases") && path.Base(key) != "now" {
				delete(w.objects, key)
			}
		}
		w.memory.mu.Unlock()
		var damaged *session.Error
		if _, err := open(t, session.Options{Remote: w}).Run(t.Context(), python("s"), withBase("base")); !errors.As(err, &damaged) {
			t.Errorf("without the blob: %v", err)
		}
	})
}

// A server takes hours between its check of a shared blob and the state that needs it, and
// another begins to remove the blob meanwhile: it fails, or the blob is made again.
func TestBaseRace(t *testing.T) {
	for name, tt := range map[string]struct {
		removal time.Duration // how long after the state was made
		want    map[string]int
	}{
		"removal after the state":  {30 * time.Minute, map[string]int{">copy": 1, "copy>going": 1, "going>copy": 1}},
		"removal before the state": {-time.Minute, map[string]int{">copy": 2, "copy>going": 1, "going>": 1}},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWatched()
			begun, puts := time.Now(), 0
			at := func(d time.Duration) { time.Sleep(time.Until(begun.Add(d))) }
			limits := session.Limits{TTL: time.Hour}
			a := open(t, session.Options{Limits: limits, Remote: &link{Remote: w, before: func(_ context.Context, request string) error {
				if strings.Contains(request, "put default/s/") && strings.Contains(request, "/states/") {
					at(3 * time.Hour)
				}
				return nil
			}}})
			b := open(t, session.Options{Limits: limits, Remote: &link{Remote: w, before: func(_ context.Context, request string) error {
				if strings.HasPrefix(request, "put default/.bases/") {
					if puts++; puts == 2 {
						at(3*time.Hour + tt.removal)
					}
				}
				return nil
			}}})
			var wg sync.WaitGroup
			wg.Go(func() {
				at(3*time.Hour - 5*time.Minute)
				call(t, b, "other", add("x"))
			})
			if out, err := a.Run(t.Context(), python("s"), withBase("base")); err != nil || !out.Continued.Kept {
				t.Errorf("%s: %+v, %v", name, out, err)
			}
			wg.Wait()
			if !maps.Equal(w.moves, tt.want) {
				t.Errorf("%s: the blob became %v, want %v", name, w.moves, tt.want)
			}
			if got := show(t, open(t, session.Options{Remote: w}), "s"); got != "x log=x" {
				t.Errorf("%s: it is %q", name, got)
			}
		})
	}
}
