package python

import (
	"context"
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
