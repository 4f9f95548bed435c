package toolbox_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"coderunner/runners"
	"coderunner/runners/runnertest"
	"coderunner/runners/toolbox"
)

// clock counts what holds it.
type clock struct {
	mu          sync.Mutex
	holds, held int
}

func (c *clock) hold() func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.holds++
	c.held++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.held--
	}
}

func (c *clock) now() (holds, held int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.holds, c.held
}

func newBox(t *testing.T) (*toolbox.Box, *runnertest.Tools, *clock) {
	tools, c := runnertest.NewTools(), &clock{}
	return toolbox.New(t.Context(), &runners.Request{Tools: tools}, c.hold), tools, c
}

// TestHold checks that the clock stands still while any call waits, for ten minutes in all, and
// that the end of the run ends what waits.
func TestHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tools, c := runnertest.NewTools(), &clock{}
		ctx, cancel := context.WithCancel(t.Context())
		box := toolbox.New(ctx, &runners.Request{Tools: tools}, c.hold)
		var calls sync.WaitGroup
		for i := range 100 { // of which 64 run
			calls.Go(func() { box.Ask(t.Context(), fmt.Appendf(nil, `{"op":"call","name":"demo.wait","key":"%d"}`, i)) })
		}
		synctest.Wait()
		if holds, held := c.now(); holds != 1 || held != 1 || tools.Calls.Load() != 64 {
			t.Errorf("%d holds, %d held, %d calls", holds, held, tools.Calls.Load())
		}
		box.Ask(t.Context(), []byte(`{"op":"cancel","key":"0"}`))
		synctest.Wait()
		if _, held := c.now(); held != 1 {
			t.Error("the clock goes on while calls wait")
		}
		time.Sleep(10*time.Minute - time.Second)
		if _, held := c.now(); held != 1 {
			t.Error("the clock goes on within the bound")
		}
		time.Sleep(2 * time.Second)
		if _, held := c.now(); held != 0 {
			t.Error("the clock stands still beyond the bound")
		}
		cancel()
		calls.Wait()
		box.Ask(t.Context(), []byte(`{"op":"call","name":"demo.echo"}`))
		if holds, held := c.now(); holds != 1 || held != 0 {
			t.Errorf("%d holds, %d held, after the bound", holds, held)
		}
	})
}

// TestAsk has queries with their answers.
func TestAsk(t *testing.T) {
	box, _, c := newBox(t)
	for query, want := range map[string]string{
		`{"op":"servers"}`: `{"value":["demo"]}`,
		`{"op":"call","name":"demo.text","args":{"text":" {\"a\": 1.0}\n"}}`: `{"parts":[{"v":{"a":1.0}}]}`,
		`{"op":"call","name":"demo.text","args":{"text":"12"}}`:              `{"parts":[{"v":"12"}]}`,
		`{"op":"call","name":"demo.nothing"}`:                                `{"parts":[]}`,
		`{"op":"call","name":"demo.echo","args":{"n":12345678901234567890}}`: `{"parts":[{"v":{"n":12345678901234567890}}]}`,
		`{"op":"call","name":"demo.echo","args":[]}`:                         `{"error":{"code":"bad_arguments","message":"the arguments are not an object"}}`,
		`{"op":"read","name":"demo","uri":"x://y"}`:                          `{"parts":[{"v":{"read":"demo x://y"}}]}`,
		`{"op":"link"}`: `{"error":{"code":"bad_arguments","message":"there is no query \"link\""}}`,
	} {
		if got := string(box.Ask(t.Context(), []byte(query))); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	if holds, held := c.now(); holds == 0 || held != 0 {
		t.Errorf("%d holds, %d held", holds, held)
	}
}

// TestBounds has what is larger than it may be.
func TestBounds(t *testing.T) {
	box, tools, _ := newBox(t)
	long, _ := json.Marshal(strings.Repeat("x", runners.MaxToolArguments))
	for name, q := range map[string]toolbox.Query{
		"bad_arguments": {Op: "call", Name: "demo.echo", Args: append([]byte(`{"text":`), append(long, '}')...)},
		"not_found":     {Op: "describe", Name: string(long)},
		"budget":        {Op: "call", Name: "demo.big"},
	} {
		_, err := box.Do(t.Context(), q)
		if e, ok := err.(*runners.ToolError); !ok || e.Code != name {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := tools.Calls.Load(); n != 1 {
		t.Errorf("%d calls were made, want that of demo.big", n)
	}
	var none *toolbox.Box
	if _, err := none.Do(t.Context(), toolbox.Query{Op: "servers"}); err == nil || none.Servers() != nil {
		t.Errorf("without tools: %v", err)
	}
}

// TestWaitingIsBounded has more calls wait than may.
func TestWaitingIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tools, c := runnertest.NewTools(), &clock{}
		ctx, cancel := context.WithCancel(t.Context())
		box := toolbox.New(ctx, &runners.Request{Tools: tools}, c.hold)
		q := toolbox.Query{Op: "call", Name: "demo.wait", Args: append([]byte("{}"), make([]byte, 1<<20)...)}
		var calls sync.WaitGroup
		for range 63 {
			calls.Go(func() { _, _ = box.Do(t.Context(), q) })
		}
		synctest.Wait()
		if _, err := box.Do(t.Context(), q); err == nil || err.(*runners.ToolError).Code != "budget" {
			t.Errorf("more than may wait: %v", err)
		}
		cancel()
		calls.Wait()
	})
}

// TestFiles checks that a server is asked when one of its files is opened, not when they are
// listed.
func TestFiles(t *testing.T) {
	box, tools, _ := newBox(t)
	files := toolbox.Files(func() *toolbox.Box { return box })
	list, err := fs.ReadDir(files, ".")
	if err != nil || len(list) != 2 || tools.Started.Load() != 0 {
		t.Errorf("%v, %v; asked %d times", list, err, tools.Started.Load())
	}
	for _, name := range []string{"demo.pyi", "demo.d.ts"} {
		if b, err := fs.ReadFile(files, name); err != nil || string(b) != "declarations of "+name+"\n" {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	for _, name := range []string{"demo", "demo.txt", "other.pyi", "."} {
		if b, err := fs.ReadFile(files, name); err == nil {
			t.Errorf("%s: %q", name, b)
		}
	}
}

// TestRemote checks that the tools of another process are what its box has.
func TestRemote(t *testing.T) {
	box, _, _ := newBox(t)
	remote := toolbox.Remote(func(ctx context.Context, q toolbox.Query, result any) error {
		value, err := box.Do(ctx, q)
		if err != nil {
			return err
		}
		b, err := json.Marshal(value)
		if err == nil {
			err = json.Unmarshal(b, result)
		}
		return err
	})
	again := toolbox.New(t.Context(), &runners.Request{Tools: remote}, (&clock{}).hold)
	for _, query := range []string{
		`{"op":"servers"}`, `{"op":"list","name":"demo"}`, `{"op":"list","name":"x"}`, `{"op":"search","name":"echo"}`, `{"op":"describe","name":"demo"}`,
		`{"op":"stub","name":"demo","ending":".pyi"}`, `{"op":"call","name":"demo.mixed"}`, `{"op":"call","name":"demo.denied"}`, `{"op":"read","name":"demo","uri":"a:b"}`,
	} {
		if got, want := string(again.Ask(t.Context(), []byte(query))), string(box.Ask(t.Context(), []byte(query))); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
}

// TestRecording checks that a replay answers as what was recorded did, calls nothing, and has
// each call once.
func TestRecording(t *testing.T) {
	tools := runnertest.NewTools()
	var r toolbox.Recording
	c := &clock{}
	first := toolbox.New(t.Context(), &runners.Request{Tools: r.Record(tools)}, c.hold)
	queries := []string{
		`{"op":"servers"}`, `{"op":"describe","name":"demo"}`, `{"op":"describe","name":"demo"}`, `{"op":"call","name":"demo.echo","args":{"n":1}}`,
		`{"op":"call","name":"demo.mixed"}`, `{"op":"call","name":"demo.denied","line":3}`, `{"op":"list","name":"demo"}`, `{"op":"read","name":"demo","uri":"a:b"}`,
	}
	var want []string
	for _, q := range queries {
		want = append(want, string(first.Ask(t.Context(), []byte(q))))
	}
	list, whole := r.Exchanges()
	text, err := json.MarshalIndent(list, " ", " ")
	if err == nil {
		list = nil
		err = json.Unmarshal(text, &list)
	}
	if err != nil || !whole || len(list) != len(queries)-1 {
		t.Fatalf("%d exchanges, %t, %v", len(list), whole, err)
	}
	asked := tools.Started.Load()
	again := toolbox.New(t.Context(), &runners.Request{Tools: toolbox.Replay(list)}, c.hold)
	for i, q := range queries {
		if got := string(again.Ask(t.Context(), []byte(q))); got != want[i] {
			t.Errorf("%s: %s, want %s", q, got, want[i])
		}
	}
	for _, q := range []string{queries[3], `{"op":"call","name":"demo.echo","args":{"n":2}}`} {
		if got := string(again.Ask(t.Context(), []byte(q))); !strings.Contains(got, `"code":"unknown"`) {
			t.Errorf("%s, again: %s", q, got)
		}
	}
	if n := tools.Started.Load(); n != asked {
		t.Errorf("the replay asked %d times", n-asked)
	}
	small := toolbox.Recording{Most: 10}
	_, _ = small.Record(tools).Call(t.Context(), runners.ToolCall{Tool: "demo.echo", Arguments: []byte(`{}`)})
	if list, whole := small.Exchanges(); whole || len(list) != 0 {
		t.Errorf("more than the bound is kept: %v, %t", list, whole)
	}
}
