package deno

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"coderunner/internal/sandbox"
	"coderunner/runners"
)

// codeCaches are Deno's databases of things that it derives from programs and
// packages: V8's code, and what modules export.
var codeCaches = []string{"v8_code_cache_v2", "node_analysis_cache_v2", "dep_analysis_cache_v2"}

// codeDir has them, in Deno's cache. It is the one place in the cache that the
// process of a program may write, and what loading packages twice as fast
// costs.
const codeDir = "code"

// linkCodeCaches moves the databases, by links, into a folder of their own.
// SQLite makes its other files beside the file that a link leads to.
func linkCodeCaches(dir string) error {
	err := os.MkdirAll(filepath.Join(dir, codeDir), 0o700)
	if errors.Is(err, fs.ErrPermission) || readOnly(err) {
		return nil // Deno does without, and says nothing
	}
	if err != nil {
		return err
	}
	for _, name := range codeCaches {
		path, target := filepath.Join(dir, name), filepath.Join(codeDir, name)
		if have, err := os.Readlink(path); err == nil && have == target {
			continue
		}
		for _, old := range []string{path, path + "-wal", path + "-shm"} {
			if err := os.RemoveAll(old); err != nil {
				return err
			}
		}
		if err := os.Symlink(target, path); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// dropCodeCaches removes the databases. They have no checksums, and what is
// damaged in them ends every Deno that loads it: so a Deno that has crashed is
// the last one that had them.
func dropCodeCaches(dir string) {
	for _, name := range codeCaches {
		removeDatabase(filepath.Join(dir, codeDir, name))
	}
}

// removeDatabase removes a database of Deno's. Whoever has it open goes on with
// what he has.
func removeDatabase(name string) {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		_ = os.Remove(name + suffix) // the next one tries again
	}
}

// Isolation says how well a program in Deno is confined beside Deno's own
// permissions, under a policy.
func Isolation(p runners.Policy) sandbox.Level {
	level := sandbox.Probe()
	if unconfined(p) {
		level.InForce = nil
	}
	level.InForce = append(slices.Clip(level.InForce), limits()...)
	if !unconfined(p) && level.Name != sandbox.None {
		level.InForce = append(level.InForce, groupLimits())
	}
	if p.Run.Any() && !p.DenyRun.All {
		level = level.Without("--allow-run: programs that a program starts need the whole machine")
	}
	if p.FFI.Any() && !p.DenyFFI.All {
		level = level.Without("--allow-ffi: native libraries need the whole machine")
	}
	return level
}

// groupTasks is how many threads the control group of a program may have. One
// more than allowed, so that whoever counts them sees it, too.
const groupTasks = maxThreads + 1

// groupMemory is how much more memory the control group of a process may have
// than it has when it is ready, in bytes. RLIMIT_DATA comes first, with an
// error in the program and not its death: the group also counts what the
// kernel needs for the pages and the threads.
func groupMemory(limit int64) int64 { return limit + limit/64 + 64<<20 }

// groupLimits says whether there are control groups.
func groupLimits() string {
	if err := sandbox.Delegated(); err != nil {
		return "no control group: " + err.Error()
	}
	return fmt.Sprintf("a control group for each run: all of its memory, to the limit of the run and %d MiB, and %d threads at any moment", groupMemory(0)>>20, groupTasks)
}

// unconfined reports whether the policy leaves nothing to confine.
func unconfined(p runners.Policy) bool {
	return p.Run.Any() && !p.DenyRun.All || p.FFI.Any() && !p.DenyFFI.All
}

// confinement is what a process may touch, nil if that is everything.
func (r *Runner) confinement(v variant, f *folder) (*sandbox.Spec, error) {
	p := r.cfg.Policy
	if unconfined(p) {
		return nil, nil
	}
	// Deno keeps what it makes of the program's TypeScript here, and tries for
	// 150 ms if it cannot.
	gen := r.ownGen(f)
	if err := os.MkdirAll(gen, 0o700); err != nil && !errors.Is(err, fs.ErrPermission) && !readOnly(err) {
		return nil, err
	}
	s := &sandbox.Spec{
		Execute: []string{v.binary},
		Read:    []string{r.denoDir, r.folders.bootstrap()},
		Write:   []string{f.path, gen},
		Network: p.Net.Any() && !p.DenyNet.All,
	}
	if !r.cfg.Strict {
		s.Write = append(s.Write, filepath.Join(r.denoDir, codeDir))
	}
	if v.ready.dir != "" {
		s.Read = append(s.Read, v.ready.dir)
	}
	if s.Network {
		for _, name := range certificateVariables {
			s.Read = append(s.Read, r.cfg.Env[name])
		}
	}
	s.Read = append(s.Read, granted(p.Read, p.DenyRead)...)
	s.Write = append(s.Write, granted(p.Write, p.DenyWrite)...)
	return s, nil
}

// preparation is what the trusted phase may touch. It runs nothing of a package,
// but it unpacks and parses what strangers have put into registries. Staging is
// the folder that it fills, "" if it fills none.
func (r *Runner) preparation(binary, dir, staging string) *sandbox.Spec {
	s := &sandbox.Spec{Execute: []string{binary}, Read: []string{dir}, Write: []string{r.denoDir, staging}, Network: true}
	for _, name := range certificateVariables {
		s.Read = append(s.Read, r.cfg.Env[name])
	}
	return s
}

// granted gives the paths of a grant. Landlock knows no exceptions: those are
// left to Deno.
func granted(allow, deny runners.Grant) []string {
	switch {
	case deny.All:
		return nil
	case allow.All:
		return []string{"/"}
	}
	return allow.List
}

// genDir is where Deno keeps what it makes of the TypeScript in a folder.
func (r *Runner) genDir(dir string) string {
	return filepath.Join(r.denoDir, "gen", "file", trimVolume(dir))
}

// ownGen is genDir of a run.
func (r *Runner) ownGen(f *folder) string { return r.genDir(f.work()) }

// sweepGen removes what Deno made in folders that are gone: those of this
// Runner when it ends, and of processes that were killed.
func (r *Runner) sweepGen() {
	made, _ := filepath.Glob(r.genDir(filepath.Join(filepath.Dir(r.folders.base), basePrefix+"*")))
	for _, dir := range made {
		if _, err := os.Lstat(filepath.Join(filepath.Dir(r.folders.base), filepath.Base(dir))); errors.Is(err, fs.ErrNotExist) {
			_ = os.RemoveAll(dir) // the next one tries again
		}
	}
}

func readOnly(err error) bool { return errors.Is(err, syscall.EROFS) }
