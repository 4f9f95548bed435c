package clang

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"coderunner/cache"
	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/kernel"
	"coderunner/internal/machine/memfs"
	"coderunner/runners"
	"coderunner/runners/wasi/engine"
	"coderunner/runners/wasi/guest"
)

// headers are those of C++ that a precompiled header has: reading them takes most of the time
// of compiling a program.
var headers = strings.Fields("algorithm array chrono deque fstream functional iomanip iostream iterator list map memory numeric optional queue random ranges set sstream stack stdexcept string string_view tuple unordered_map unordered_set utility variant vector")

// Flags on which a precompiled header depends, with the values for which there is one.
var (
	standards = []string{"-std=gnu++17", "-std=gnu++20", "-std=c++17", "-std=c++20", "-std=c++23"}
	levels    = []string{"-O0", "-O1", "-O2", "-O3"}
)

// variant returns the flags of the precompiled header that goes with a compiler's, nil if
// there is none.
func variant(flags []string) []string {
	v := []string{standards[0], levels[0]}
	for _, f := range flags {
		switch {
		case slices.Contains(standards, f):
			v[0] = f
		case slices.Contains(levels, f):
			v[1] = f
		case f == "-O":
			v[1] = levels[1]
		case f != "-c" && f != lines && !strings.HasPrefix(f, "-W") && !strings.HasPrefix(f, "-I") || f == "-I":
			return nil
		}
	}
	return v
}

// includes reports whether a program includes headers of the precompiled one, and defines
// nothing that could change them.
func includes(text string) (does bool) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#define _") || strings.HasPrefix(line, "#undef") {
			return false
		}
		if rest, ok := strings.CutPrefix(strings.Replace(line, "#include<", "#include <", 1), "#include <"); ok {
			name, _, _ := strings.Cut(rest, ">")
			does = does || slices.Contains(headers, name)
		}
	}
	return does
}

// precompiled returns the path of the precompiled header for a single source, "" if none fits,
// or none can be had: a program is as good without it.
func (b *builder) precompiled(ctx context.Context, l *line, in []input) string {
	flags := variant(l.compile)
	if !l.cxx || flags == nil || len(in) != 1 || in[0].source == "" || len(in[0].before) > 0 {
		return ""
	}
	if text, err := b.read(in[0].source); err != nil || !includes(string(text)) {
		return "" // the compiler tells why it cannot be read
	}
	dir := root + "/pch" + strings.Join(flags, "")
	file, err := derive(ctx, b.Engine, b.Code, strings.Join(flags, " "))
	if err != nil || guest.Mount(b.FS(), dir, "data", cache.DirFS(filepath.Dir(file))) != nil {
		return ""
	}
	return dir + "/data" // as the cache names the file of an entry
}

// surplus reports whether what clang says may come of what a precompiled header has and the
// program has not included.
func surplus(said []byte) bool {
	return slices.ContainsFunc([]string{"ambiguous", "redefinition", "redeclar", "conflict", "different", "precompiled", "PCH"}, func(s string) bool { return strings.Contains(string(said), s) })
}

// runtimeKey is the key of the object with what C++'s exceptions need; other keys are flags of
// precompiled headers.
const runtimeKey = "exceptions"

//go:embed runtime/exceptions.cpp
var runtime string

// derive returns a file that is made by the compiler of what is ours, by its key.
func derive(ctx context.Context, e *engine.Engine, code *engine.Code, key string) (string, error) {
	text, flags := runtime, []string{"-O2", "-x", "c++"}
	if list := strings.Fields(key); key != runtimeKey {
		if len(list) != 2 || !slices.Contains(standards, list[0]) || !slices.Contains(levels, list[1]) {
			return "", fmt.Errorf("there is no precompiled header for %.50q", key)
		}
		text, flags = "#include <"+strings.Join(headers, ">\n#include <")+">\n", append(list, "-fpch-instantiate-templates", "-x", "c++-header")
	}
	args := clang(true, append(flags, "-c", "-", "-o", "-")...)
	of := runners.SHA256([]byte(text + strings.Join(args, " ")))
	return e.Derived(ctx, &module, key, of, func(ctx context.Context, w io.Writer) error { return compile(ctx, e, code, args, text, w) })
}

// compile runs the compiler from a text to a writer, on a machine of its own.
func compile(ctx context.Context, e *engine.Engine, code *engine.Code, args []string, text string, w io.Writer) error {
	const memory = 1 << 30
	fsys := memfs.New(memfs.Options{MaxBytes: memory})
	k, err := kernel.New(kernel.Options{FS: fsys})
	if err != nil {
		return err
	}
	said := &said{}
	p, err := k.Main(kernel.Exec{Args: args, Dir: "/", Files: map[int]*memfs.File{
		0: fsys.NewFile(memfs.NewInput(strings.NewReader(text)), abi.O_RDONLY, abi.S_IFIFO|0o600),
		1: fsys.NewFile(memfs.NewOutput("stdout", w), abi.O_WRONLY, abi.S_IFIFO|0o600),
		2: fsys.NewFile(memfs.NewOutput("stderr", said), abi.O_WRONLY, abi.S_IFIFO|0o600),
	}})
	if err != nil {
		return err
	}
	var failure error
	_, err = p.Run(ctx, func(ctx context.Context, p *kernel.Process) int {
		if failure = guest.Mount(fsys, root, "include", code.Files); failure != nil {
			return 1
		}
		end, err := engine.Main(ctx, p, code, nil)
		if failure = err; err == nil && end.Code != 0 && ctx.Err() == nil {
			failure = fmt.Errorf("compile what belongs to C++: %s%s", end.Trap, said)
		}
		return end.Code
	})
	return errors.Join(err, failure, k.Failure(), context.Cause(ctx))
}
