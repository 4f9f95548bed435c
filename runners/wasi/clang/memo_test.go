package clang

import (
	"context"
	"errors"
	"testing"

	"coderunner/cache"
	"coderunner/internal/fetch"
	"coderunner/internal/machine/kernel"
	"coderunner/internal/machine/memfs"
	"coderunner/runners"
	"coderunner/runners/wasi/engine"
	"coderunner/runners/wasi/guest"
)

// TestRemembered has a program built once, for this process and for later ones, as long as
// its files are the same. A process that may not keep files builds it itself.
func TestRemembered(t *testing.T) {
	c, err := cache.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fsys := memfs.New(memfs.Options{MaxBytes: 1 << 20})
	k, err := kernel.New(kernel.Options{FS: fsys})
	if err != nil {
		t.Fatal(err)
	}
	owner := engine.New(engine.Config{Files: c, Fetch: func(context.Context, fetch.NPMPackage, fetch.ProgressFunc) (string, error) {
		return "", errors.New("none")
	}})
	worker := engine.New(engine.Config{Files: c})
	forget := func() { memo.Put("key", kept{Files: map[string]string{"/a.h": "other"}}) }
	p, err := k.Main(kernel.Exec{Args: []string{"cc"}, Dir: "/"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Run(t.Context(), func(ctx context.Context, p *kernel.Process) int {
		for _, step := range []struct {
			name, header string
			engine       *engine.Engine
			forgets      bool
			builds       bool
		}{
			{"first", "1", owner, false, true},
			{"again", "1", owner, false, false},
			{"in another process", "1", owner, true, false},
			{"with another header", "2", owner, false, true},
			{"in another process, with another header", "2", owner, true, true},
			{"in a worker", "2", worker, true, true},
		} {
			if err := fsys.WriteFile("/a.h", []byte(step.header), 0o644); err != nil {
				t.Error(err)
			}
			if step.forgets {
				forget()
			}
			b := &builder{Call: &guest.Call{Process: p, Engine: step.engine}}
			builds := false
			r, err := b.remembered(ctx, "key", func() (*built, error) {
				builds = true
				b.looked["/a.h"] = true
				return &built{made: []byte("of " + step.header), said: []byte("warning")}, nil
			})
			if err != nil || string(r.made) != "of "+step.header || string(r.said) != "warning" || builds != step.builds {
				t.Errorf("%s: %+v, %v, built: %v", step.name, r, err, builds)
			}
			if again, err := b.remembered(ctx, "key", nil); err != nil || again.digest != runners.SHA256(r.made) {
				t.Errorf("%s: it is remembered as %q, %v", step.name, again.digest, err)
			}
		}
		b := &builder{Call: &guest.Call{Process: p, Engine: owner}}
		bad := errors.New("bad")
		if _, err := b.remembered(ctx, "fails", func() (*built, error) { return nil, bad }); err != bad {
			t.Errorf("what fails: %v", err)
		}
		return 0
	})
	if err != nil {
		t.Error(err)
	}
}
