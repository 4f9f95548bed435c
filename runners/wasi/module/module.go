// Package module runs WASI preview 1 modules: those that a program of ours has built, or a
// caller has sent in base64.
package module

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"

	"coderunner/runners"
	"coderunner/runners/wasi/engine"
	"coderunner/runners/wasi/guest"
)

// magic is what modules begin with.
const magic = "\x00asm"

// Language is the row.
var Language = guest.Language{
	Name: runners.WASM, Version: "WASI preview 1", File: "main.wasm", Commands: []string{"wasm"}, Formats: []string{magic},
	Data: decode, Run: run,
	Ready: func(ctx context.Context, e *engine.Engine, b []byte) { _, _ = e.Use(ctx, b, runners.SHA256(b)) },
}

// decode returns a module of base64.
func decode(code string) ([]byte, error) {
	text := strings.Join(strings.Fields(code), "")
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		b, err = base64.RawStdEncoding.DecodeString(text)
	}
	if err != nil || !strings.HasPrefix(string(b), magic) {
		return nil, runners.BadArgument("code", "is no WebAssembly module in base64, which programs of this language are.")
	}
	return b, nil
}

// run is wasm FILE [ARG]...
func run(ctx context.Context, c *guest.Call) int {
	const usage, cannot = 2, 126 // as a shell has them
	if len(c.Args) < 2 {
		fmt.Fprintln(c.Stderr(ctx), "usage: wasm FILE [ARG]...")
		return usage
	}
	c.Args = c.Args[1:]
	wasm, err := guest.Read(ctx, c.Process, c.Args[0], engine.MaxOwn+1)
	var code *engine.Code
	if err == nil {
		code, err = c.Engine.Use(ctx, wasm, runners.SHA256(wasm))
	}
	if err != nil {
		if ctx.Err() != nil {
			return 1
		}
		fmt.Fprintf(c.Stderr(ctx), "%s: %v\n", c.Args[0], err)
		if bad := engine.IsBad(err); c.Report != nil && bad != "" {
			c.Report.Error = &runners.Error{Type: "BadModule", Message: bad, Shown: true}
		}
		return cannot
	}
	end, err := engine.Main(ctx, c.Process, code, func() []byte { return wasm })
	return c.Ended(ctx, c.Args[0], end, err)
}
