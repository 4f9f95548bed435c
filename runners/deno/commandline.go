package deno

import (
	"path/filepath"
	"slices"
	"strconv"

	"coderunner/runners"
)

// withoutCache returns p without write access to the cache and to our scripts,
// which other processes run.
func (in *instance) withoutCache(p runners.Policy) runners.Policy {
	if p.Write.Any() && !p.DenyWrite.All {
		p.DenyWrite.List = slices.Concat(p.DenyWrite.List, []string{in.cfg.Cache.Root()}, in.runDirs.scripts())
	}
	return p
}

// commandLine returns the arguments for Deno.
func (in *instance) commandLine() []string {
	v, f, policy := in.variant, in.dir, in.policy()
	args := []string{"run", "--quiet", "--cached-only", "--no-prompt", "--unstable-sloppy-imports", "--unstable-detect-cjs", "--unstable-kv", "--unstable-cron", "--unstable-unsafe-proto", heapFlag(v.memory)}
	read := []string{f.work(), f.temp()}
	if v.kept {
		read = append(read, f.orders(), in.compiled())
		policy = withInspector(policy)
	}
	if in.ownNetwork() && !v.asks {
		policy.Net.List = itself
	}
	var imports []string
	if v.ready.config {
		args = append(args, "--config="+filepath.Join(f.path, configName))
	} else {
		args = append(args, "--no-config")
	}
	switch {
	case v.ready.own:
		args = append(args, "--import-map="+filepath.Join(f.path, mapName))
	case v.ready.dir != "":
		args = append(args, "--import-map="+filepath.Join(v.ready.dir, mapName))
	}
	if v.ready.locked {
		args = append(args, "--lock="+filepath.Join(v.ready.dir, lockName), "--frozen")
	} else {
		args = append(args, "--no-lock")
	}
	read = slices.Concat(read, v.ready.dirs, v.ready.copies)
	if v.ready.remote {
		imports = importFlags(policy, in.cfg.JSRURL)
		if len(imports) == 0 {
			imports = []string{"--allow-import"} // --cached-only forbids the rest
		}
	}
	if !v.ready.npm && !v.ready.remote || !in.coded {
		args = append(args, "--no-code-cache") // the cache would not be used again
	}
	write := []string{f.work(), f.temp(), f.report()}
	args = append(args, permissionFlags(in.withoutCache(policy), read, write, imports)...)
	return append(args, in.runDirs.bootstrap(in.variant))
}

// heapFlag limits V8's heap. Its unit is the mebibyte.
func heapFlag(memory int64) string {
	return "--v8-flags=--max-old-space-size=" + strconv.FormatInt(max(memory>>20, 1), 10)
}
