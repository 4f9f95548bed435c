//go:build linux

package hostile

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"coderunner/internal/sample"
)

// TestCalls makes many calls at once and one after the other.
//
// Rows 12, 14, 25, 26, 62.
func TestCalls(t *testing.T) {
	needsServer(t)
	s, before := warmed(t, settings{env: []string{"CODE_RUNNER_CONCURRENCY=8"}})
	each := func(t *testing.T, n int, program func(i int) arguments, check func(i int, o *outcome) error) {
		t.Helper()
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				o, text, err := s.run(program(i))
				if err == nil {
					err = check(i, o)
				}
				if err != nil {
					t.Errorf("call %d: %v\n%s", i, err, clip(text, 300))
				}
			})
		}
		wg.Wait()
		for _, l := range s.settle(*before) {
			t.Error("left: " + l)
		}
	}
	many, few := 8, 2
	if sample.All {
		many, few = 24, 8
	}
	t.Run("near the memory limit", func(t *testing.T) {
		each(t, many, func(int) arguments {
			return arguments{Language: python, Code: "b = bytearray(150 << 20)\nfor i in range(0, len(b), 4096): b[i] = 1\nlen(b)", Timeout: 120}
		}, func(_ int, o *outcome) error {
			if o.Status != "succeeded" {
				return errors.New(o.Status)
			}
			return nil
		})
	})
	t.Run("deep stacks", func(t *testing.T) {
		each(t, few, func(int) arguments {
			return arguments{Language: python, Code: "import sys\nsys.setrecursionlimit(10**9)\na = []\nfor _ in range(10**6): a = [a]\nrepr(a)", Timeout: 20}
		}, func(_ int, o *outcome) error {
			if o.Status == "succeeded" {
				return errors.New("it succeeded")
			}
			return nil
		})
		if err := s.probe(python); err != nil {
			t.Error(err)
		}
	})
	t.Run("no cross-talk", func(t *testing.T) {
		each(t, 12, func(i int) arguments {
			if i%2 == 0 {
				return arguments{Language: javascript, Code: fmt.Sprintf("for (let i = 0; i < 2500; i++) console.log('mark%d')", i), Timeout: 120}
			}
			return arguments{Language: python, Code: fmt.Sprintf("for i in range(2500): print('mark%d')", i), Timeout: 120}
		}, func(i int, o *outcome) error {
			mark := fmt.Sprintf("mark%d", i)
			if want := strings.Repeat(mark+"\n", 2500); o.Stdout != want {
				return fmt.Errorf("%s: it prints %d bytes, want %d: %q", o.Status, len(o.Stdout), len(want), clip(o.Stdout, 100))
			}
			return nil
		})
	})
	t.Run("one after the other", func(t *testing.T) {
		for i := range 60 {
			a := arguments{Language: []string{python, javascript}[i%2], Code: fmt.Sprint(i)}
			o, _, err := s.run(a)
			if err != nil || o.text() != fmt.Sprint(i) {
				t.Fatalf("call %d: %+v, %v", i, o, err)
			}
		}
		for _, l := range s.settle(*before) {
			t.Error("left: " + l)
		}
	})
	t.Run("randomness", func(t *testing.T) {
		seen := map[string]bool{}
		code := "import random, uuid, secrets, os, time\n[random.random(), str(uuid.uuid4()), secrets.token_hex(8), os.urandom(8).hex()]"
		for range 6 {
			o, _, err := s.run(arguments{Language: python, Code: code})
			if err != nil {
				t.Fatal(err)
			}
			for _, part := range strings.Split(strings.Trim(o.text(), "[]"), ", ") {
				if seen[part] || part == "" {
					t.Errorf("%s comes twice", part)
				}
				seen[part] = true
			}
		}
		begun := time.Now()
		o, _, err := s.run(arguments{Language: python, Code: "import time\nint(time.time())"})
		if err != nil {
			t.Fatal(err)
		}
		if at, _ := strconv.ParseInt(o.text(), 10, 64); at < begun.Unix()-1 || at > time.Now().Unix() {
			t.Errorf("the time is %s", o.text())
		}
	})
}
