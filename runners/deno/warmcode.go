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
// second run does.

// makeLimit bounds the loading of a set's packages, and so the wait in Close.
const makeLimit = 15 * time.Second

// codes decides which sets of packages have databases, and makes them.
type codes struct{ *process.Leases }

// used records that a program ran in a process of the variant, and may start to
// make its databases. Again reports whether its packages were prepared before.
func (c *codes) used(v process.Variant, d deps.Dependencies, again bool) {
	if key := c.SnapshotKey(v); key != "" && !c.Snapshots.Forgone(context.Background(), key) {
		c.Snapshots.Want(key, func(ctx context.Context, dir string) error { return c.makeSnapshot(ctx, v, key, dir) }, func() {})
		return
	}
	key := c.CodeKey(v)
	if key == "" || len(d.Targets) == 0 || !again && c.Config.Ahead <= 0 {
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
	if key := c.SnapshotKey(v); key != "" { // to make another costs less than to look
		c.Snapshots.Drop(context.Background(), key)
		return
	}
	narrow := v
	narrow.Narrow, narrow.Early = true, nil
	c.Store.Suspect(c.CodeKey(v), func(ctx context.Context) bool {
		in, end, err := c.load(ctx, narrow, "main.js", d.Loader())
		if in != nil {
			in.Leave()
		}
		return err == nil && end.RuntimeFailed()
	}, func() { c.DropVariant(v) }) // idle processes have them, too
}

// load runs a program of ours, such as one that loads packages. The caller calls leave on the
// instance, if it is not nil.
func (c *codes) load(ctx context.Context, v process.Variant, main, text string) (*process.Instance, *ending.Ending, error) {
	in := c.Launch(ctx, v)
	if err := in.Await(ctx, func(dir *process.RunDir) error { return dir.Write(main, text, nil) }); err != nil {
		in.Discard()
		return nil, nil, err
	}
	j := &job{Analysis: program.Analysis{Main: main, Shown: main, Program: jsparse.Plain(text)}, leases: c.Leases, binary: v.Binary, ready: &install.Prepared{Packages: v.Ready}, begun: time.Now(), left: makeLimit}
	j.req.Limits = runners.Limits{Memory: v.Memory, Timeout: makeLimit}.WithDefaults()
	end := j.attend(ctx, in, false)
	if end == nil {
		return in, nil, errors.New("Deno died")
	}
	return in, end, nil
}

// usual does what programs do, and what Deno compiles for them.
const usual = `type Row = { name: string; n: number };
const rows: Row[] = [1, 2, 3].map((n) => ({ name: "row" + n, n }));
class Sum { constructor(private total = 0) {} add(n: number): this { this.total += n; return this; } get value(): number { return this.total; } }
console.log(rows, rows.reduce((sum, row) => sum.add(row.n), new Sum()).value, JSON.stringify(rows));
await Promise.resolve(1);
`

// usualNode does what those do that import modules of Node.
const usualNode = `import fs from "node:fs";
import path from "node:path";
import { createHash } from "node:crypto";
console.log(fs.readdirSync(path.resolve(".")), createHash("sha256").update(Buffer.from("row")).digest("hex"), process.pid);
`

// makeSnapshot writes a snapshot for a variant into dir, and runs a program in a process that is
// restored from it. The zygote has run one, too, so the snapshot knows what programs write to. If
// that fails, none is tried again with this key.
func (c *codes) makeSnapshot(ctx context.Context, v process.Variant, key, dir string) (err error) {
	defer func() {
		if err != nil && ctx.Err() == nil {
			c.Snapshots.Forgo(ctx, key)
		}
	}()
	program := usual
	if v.Warm {
		program = usualNode + usual
	}
	keeps, restored := v, v
	keeps.Keeps, restored.From = true, dir
	for _, v := range []process.Variant{keeps, restored, restored} { // once more: its place may be taken by chance
		c.AwaitFirst(ctx)
		in, end, err := c.load(ctx, v, "main.ts", program)
		if in == nil {
			return err
		}
		if err == nil && end.Outcome().Status != runners.Succeeded {
			err = fmt.Errorf("run a program: %s", end.Outcome().Status)
		}
		if v.Keeps {
			err = errors.Join(err, in.SaveSnapshot(dir))
		} else {
			in.Leave()
		}
		if err != nil || in.Restored() {
			return err
		}
	}
	return errors.New("no process could be restored")
}

// make fills dir with the databases of a variant's packages.
func (c *codes) make(ctx context.Context, v process.Variant, d deps.Dependencies, dir string) error {
	in, end, err := c.load(ctx, v, "main.js", d.Loader())
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
	return codecache.Collect(in.Dir.Path, filepath.Base(in.Dir.Code()), dir)
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
