package python

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"testing"

	"coderunner/internal/session"
	"coderunner/runners"
	"coderunner/runners/runnertest"
)

// TestSessionTools has a session's programs call tools that an earlier one imported, in the
// same interpreter and in one that was saved and restored.
func TestSessionTools(t *testing.T) {
	x, dir, tools := newIndex(t), t.TempDir(), runnertest.NewTools()
	store, err := session.Open(session.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	r := x.newRunner(base{}, false, dir)
	for _, c := range []struct {
		code, want string
		origin     runners.Origin
		none       bool // without tools
	}{
		{code: "from tools.demo import echo\nimport tools\nimage = tools.demo.image()\necho(n=1)", want: "{'n': 1}", origin: runners.OriginFresh},
		{code: "echo(n=2), open('/tools/demo.pyi').read(), (await echo.aio(n=3))", want: `({'n': 2}, 'declarations of demo.pyi\n', {'n': 3})`, origin: runners.OriginLive},
		{code: "try:\n    echo()\nexcept tools.ToolError as e:\n    print(e.code)\nimage", want: "", origin: runners.OriginLive, none: true},
		{},
		{code: "echo(n=4), tools.demo.text(text='x'), len(image.data), open('/tools/demo.d.ts').read()", want: `({'n': 4}, 'x', 70, 'declarations of demo.d.ts\n')`, origin: runners.OriginRestored},
	} {
		if c.origin == "" {
			r = x.newRunner(base{}, false, dir)
			continue
		}
		req := runners.Request{Language: runners.Python, Code: c.code}
		if !c.none {
			req.Tools = tools
		}
		o, err := store.Run(t.Context(), session.Call{Session: "s", Request: req}, func(ctx context.Context, req runners.Request) (*runners.Outcome, error) { return r.Run(ctx, req) })
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if o.Result != nil {
			got = o.Result.Text
		}
		if got != c.want || o.Continued.Origin != c.origin || o.Continued.Unsaved != "" || c.none && o.Stdout != "unavailable\n" {
			t.Errorf("%s: %q, want %q; %q %+v %+v", c.code, got, c.want, o.Stdout, o.Error, o.Continued)
		}
	}
}

// consent are tools that nobody consents to calls of until it is given.
type consent struct {
	*runnertest.Tools
	given bool
}

func (c *consent) Call(ctx context.Context, call runners.ToolCall) (*runners.ToolResult, error) {
	if !c.given && call.Parks {
		return nil, &runners.ToolError{Code: runners.Parks}
	}
	return c.Tools.Call(ctx, call)
}

// TestParkedNumPy parks a program that has arrays of NumPy, with views of them, and has it go on
// in a runner that has nothing in memory. One whose interpreter cannot be restored is lost, and
// its session is as before.
func TestParkedNumPy(t *testing.T) {
	newRunner := func() *Runner { return registryRunner(t) }
	if dir := scienceWheels(t); dir != "" {
		newRunner = func() *Runner { return scienceRunner(t, dir) }
	}
	r := newRunner()
	if o := run(t, r, "import numpy"); o.Status == runners.NotInstalled && os.Getenv("CI") == "" {
		t.Skipf("%+v", o.Error)
	}
	store, err := session.Open(session.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	c := &consent{Tools: runnertest.NewTools()}
	var saved func() (map[string]string, error)
	do := func(ctx context.Context, req runners.Request) (*runners.Outcome, error) {
		if req.Tools = c; saved != nil {
			req.Session.Saved = saved
		}
		o, err := r.Run(ctx, req)
		if o != nil && o.Status == runners.Paused {
			o.Journal = json.RawMessage("{}")
		}
		return o, err
	}
	approve := func() *runners.Outcome {
		t.Helper()
		o, err := store.Resume(t.Context(), "s", func(j json.RawMessage) (json.RawMessage, bool, error) { return j, true, nil }, do)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	const code = `
import numpy as np
from tools.demo import echo

def work():
    a = np.arange(120_000.0).reshape(300, 400)
    view, total = a[::2, 1:], a.sum()
    for n, row in enumerate(a):
        if n == 7:
            answer = echo(n=n)
            row[:] = 1
    return view.base is a.base, total == sum(range(120_000)), a[6:9].sum(), n, answer

result = work()
result
`
	request := session.Call{Session: "s", Request: runners.Request{Language: runners.Python, Code: code}}
	if o, err := store.Run(t.Context(), request, do); err != nil || o.Status != runners.Paused || !o.Continued.Kept {
		t.Fatalf("%+v, %v", o, err)
	}
	c.given, r = true, newRunner()
	const want = "(True, np.True_, np.float64(2400000.0), 299, {'n': 7})"
	if o := approve(); o.Result == nil || o.Result.Text != want || o.Continued.Origin != runners.OriginRestored {
		t.Errorf("%+v %+v, want %s", o.Result, o.Error, want)
	}

	c.given = false
	request.Request.Code = "made = 1\nopen('made', 'w').close()\necho(n=1)"
	if o, err := store.Run(t.Context(), request, do); err != nil || o.Status != runners.Paused {
		t.Fatalf("%+v, %v", o, err)
	}
	r, saved = newRunner(), func() (map[string]string, error) { return nil, errors.New("another version") }
	if o := approve(); o.Error == nil || o.Error.Type != "Lost" || o.Continued.Kept {
		t.Errorf("%+v %+v", o.Error, o.Continued)
	}
	saved = nil
	request.Request.Code = "import os\nresult[3], 'made' in globals(), os.listdir(), os.umask((1 << 31 | 0x9a41) - (1 << 32))" // no call waits
	if o, err := store.Run(t.Context(), request, do); err != nil || o.Result == nil || o.Result.Text != "(299, False, [], 10)" {
		t.Errorf("%+v, %v", o, err)
	}
}
