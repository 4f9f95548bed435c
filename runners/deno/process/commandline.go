package process

import (
	"path/filepath"
	"slices"
	"strconv"

	"coderunner/runners"
)

// withoutCache returns p without write access to the caches and to our scripts,
// which other processes run.
func (in *Instance) withoutCache(p runners.Policy) runners.Policy {
	if p.Write.Any() && !p.DenyWrite.All {
		p.DenyWrite.List = slices.Concat(p.DenyWrite.List, []string{in.Config.Cache.Root(), in.Dir.denoDir()}, in.RunDirs.scripts())
	}
	return p
}

// commandLine returns the arguments for Deno.
func (in *Instance) commandLine() []string {
	v, f, policy := in.Variant, in.Dir, in.allowed()
	args := []string{"run", "--quiet", "--cached-only", "--no-prompt", "--unstable-sloppy-imports", "--unstable-detect-cjs", "--unstable-kv", "--unstable-cron", "--unstable-unsafe-proto", heapFlag(v.Memory)}
	read := []string{f.Work(), f.Temp(), f.Tools(), f.Answers(), f.Written()}
	if v.Session {
		read = append(read, f.orders(), in.compiled())
	}
	hosts := itself
	if !in.ownNetwork() || v.Asks {
		hosts = nameServers(policy)
	}
	var imports []string
	if v.Ready.Config || namesSys(policy) {
		args = append(args, "--config="+filepath.Join(f.Path, ConfigName))
	} else {
		args = append(args, "--no-config")
	}
	switch {
	case v.Ready.MapsFiles:
		args = append(args, "--import-map="+filepath.Join(f.Path, MapName))
	case v.Ready.Dir != "":
		args = append(args, "--import-map="+filepath.Join(v.Ready.Dir, MapName))
	}
	if v.Ready.Locked {
		args = append(args, "--lock="+filepath.Join(v.Ready.Dir, LockName), "--frozen")
	} else {
		args = append(args, "--no-lock")
	}
	read = slices.Concat(read, v.Ready.Dirs, v.Ready.Copies)
	if v.Ready.Remote {
		imports = ImportFlags(policy, in.Config.JSRURL)
		if len(imports) == 0 {
			imports = []string{"--allow-import"} // --cached-only forbids the rest
		}
	}
	if in.code == "" && in.OwnDir != in.DenoDir {
		args = append(args, "--no-code-cache") // the cache would not be used again
	}
	write := []string{f.Work(), f.Temp(), f.Report()}
	args = append(args, permissionFlags(in.withoutCache(policy), read, write, hosts, imports)...)
	main, _ := in.RunDirs.bootstrap(bootstrapName(v))
	return append(args, main)
}

// heapFlag limits V8's heap. Its unit is the mebibyte.
func heapFlag(memory int64) string {
	return "--v8-flags=--max-old-space-size=" + strconv.FormatInt(max(memory>>20, 1), 10)
}
