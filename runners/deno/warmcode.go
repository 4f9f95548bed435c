package deno

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	osprocess "coderunner/internal/process"
	"coderunner/runners"
	"coderunner/runners/deno/codecache"
	"coderunner/runners/deno/deps"
	"coderunner/runners/deno/ending"
	"coderunner/runners/deno/install"
	"coderunner/runners/deno/jsparse"
	"coderunner/runners/deno/process"
	"coderunner/runners/deno/program"
)

// Deno loads packages much faster with its databases (see package codecache). A
// process that loads a set of packages, runs no program and is confined under the
// narrowest policy makes the databases of the set. So a package can poison only
// databases of programs that load this very package.
//
// Use decides which sets get databases: in a server the first run of a set has
// them made in the background; other processes may end too early, so there the
// second run does. The set without packages has them made by its first run: they
// have the code of the bootstrap and of Deno's modules of Node, for processes that
// are started and not forked.

// makeLimit bounds the loading of a set's packages, and so the wait in Close.
const makeLimit = 15 * time.Second

// codes decides which sets of packages have databases, and makes them.
type codes struct{ *process.Leases }

// used records that a program ran in a process of the variant, and may start to
// make its databases. Again reports whether its packages were prepared before.
func (c *codes) used(v process.Variant, d deps.Dependencies, again bool) {
	key := c.CodeKey(v)
	wanted := len(d.Targets) > 0 && (again || c.Config.Ahead > 0)
	if !v.Packaged() {
		wanted = !c.CanFork(v) && c.CanPlace(v)
	}
	if key == "" || !wanted {
		return
	}
	making := v
	making.Making, making.Early = true, nil
	c.Store.Want(key, func(ctx context.Context, dir string) error {
		return c.make(ctx, making, d, dir)
	}, func() {
		c.DropVariant(v)
		c.Begin(v)
	})
}

// suspect starts a check of a variant's databases after a Deno with them failed.
func (c *codes) suspect(v process.Variant, d deps.Dependencies) {
	narrow := v
	narrow.Narrow, narrow.Early = true, nil
	c.Store.Suspect(c.CodeKey(v), func(ctx context.Context) bool {
		in, end, err := c.load(ctx, narrow, d)
		if in != nil {
			in.Leave()
		}
		return err == nil && end.RuntimeFailed()
	}, func() { c.DropVariant(v) }) // idle processes have them, too
}

// nodeLoader loads of Node what programs import, and what Deno loads when something first uses it.
const nodeLoader = `import "node:assert"; import "node:async_hooks"; import "node:buffer"; import "node:child_process"; import "node:crypto"; import "node:events";
import "node:fs"; import "node:fs/promises"; import "node:http"; import "node:https"; import "node:module"; import "node:net"; import "node:os"; import "node:path";
import "node:perf_hooks"; import "node:process"; import "node:querystring"; import "node:readline"; import "node:stream"; import "node:stream/promises";
import "node:string_decoder"; import "node:test"; import "node:timers"; import "node:timers/promises"; import "node:tls"; import "node:url"; import "node:util";
import "node:worker_threads"; import "node:zlib";
console.log({}, process.pid);
await new Promise((ok) => setTimeout(ok));
await (await fetch("data:,")).text();
await crypto.subtle.digest("SHA-256", new Uint8Array(1));
structuredClone({});
`

// load runs a program that loads packages. The caller calls leave on the instance, if it
// is not nil.
func (c *codes) load(ctx context.Context, v process.Variant, d deps.Dependencies) (*process.Instance, *ending.Ending, error) {
	const main = "main.js"
	loader := d.Loader()
	if !v.Packaged() {
		loader = nodeLoader
	}
	in := c.Launch(ctx, v)
	if err := in.Await(ctx, func(dir *process.RunDir) error { return dir.Write(main, loader, nil) }); err != nil {
		in.Discard()
		return nil, nil, err
	}
	j := &job{Analysis: program.Analysis{Main: main, Shown: main, Program: jsparse.Plain(loader), Deps: d}, leases: c.Leases, binary: v.Binary, ready: &install.Prepared{Packages: v.Ready}, begun: time.Now(), left: makeLimit}
	j.req.Limits = runners.Limits{Memory: v.Memory, Timeout: makeLimit}.WithDefaults()
	end := j.attend(ctx, in, false)
	if end == nil {
		return in, nil, errors.New("load the packages: Deno died")
	}
	return in, end, nil
}

// make fills dir with the databases of a variant's packages.
func (c *codes) make(ctx context.Context, v process.Variant, d deps.Dependencies, dir string) error {
	in, end, err := c.load(ctx, v, d)
	if in == nil {
		return err
	}
	defer in.Leave()
	if err != nil {
		return err
	}
	if in.OwnDir == c.DenoDir {
		return errors.New("no directory of Deno's own for a run")
	}
	// A package may end the process while it is loaded.
	if o := end.Outcome(); o.Status != runners.Succeeded && o.Status != runners.Failed || end.RuntimeFailed() {
		return fmt.Errorf("load the packages: %s", o.Status)
	}
	<-in.Process.End()
	if err := c.seal(ctx, v.Binary, in.Dir); err != nil {
		return fmt.Errorf("finish Deno's databases: %w", err)
	}
	if err := codecache.Collect(in.Dir.Path, filepath.Base(in.Dir.Code()), dir, v.Databases()); err != nil || v.Packaged() {
		return err
	}
	return process.WriteBootstrap(dir, v)
}

// seal merges the write-ahead log of each database into its file. It runs in a new
// process, without any code of the packages.
func (c *codes) seal(ctx context.Context, binary string, f *process.RunDir) error {
	dir, err := os.MkdirTemp(f.Temp(), "seal-")
	if err != nil {
		return err
	}
	script := filepath.Join(dir, "seal.js")
	if err := os.WriteFile(script, codecache.Seal, 0o600); err != nil {
		return err
	}
	spec := c.Spec(binary, script, "")
	spec.Write, spec.Network = []string{f.Code(), dir}, false
	args := []string{"run", "--quiet", "--no-config", "--no-lock", "--no-prompt", "--no-remote", "--no-npm", "--allow-read=" + f.Code(), "--allow-write=" + f.Code(), script, f.Code()}
	printed := runners.NewCapture(runners.DefaultOutput)
	keep := func(output io.Reader) { _, _ = io.Copy(printed, output) }
	state, err := osprocess.Run(ctx, osprocess.Command{
		Path: binary, Args: append(args, codecache.Names...), Dir: dir,
		Env: []string{"DENO_DIR=" + dir, "DENO_NO_UPDATE_CHECK=1", "NO_COLOR=1"}, Spec: spec,
	}, keep, keep)
	if err != nil {
		return err
	}
	if !state.Success() {
		words, _ := printed.Text()
		return fmt.Errorf("%s%s", state, process.LastLines(words))
	}
	return nil
}
