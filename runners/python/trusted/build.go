package trusted

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"coderunner/cache"
	"coderunner/pyodide"
	"coderunner/runners/python/resolver"
)

// buildScript is the program that builds a wheel of an sdist.
//
//go:embed guest/build.py
var buildScript string

// The limits of a build.
const (
	buildLimit    = 3 * time.Minute // without waiting for what it requires
	buildMemory   = 1 << 30
	buildRequires = 3 // calls
	buildRefused  = 2 // exit code of buildScript
	maxBuilt      = 64 << 20
)

// Build implements [resolver.Trusted]. The sdist's code runs in an interpreter
// with no policy, no network and no file but the sdist.
func (t Interpreters) Build(ctx context.Context, sdist resolver.Sdist) (name string, wheel []byte, err error) {
	var said tailWriter
	var in *pyodide.Interp
	calls := 0
	require := func(ctx context.Context, argument json.RawMessage) (any, error) {
		var reqs []string
		if err := json.Unmarshal(argument, &reqs); err != nil {
			return nil, errors.New("requirements must be strings")
		}
		if calls++; calls > buildRequires {
			return nil, errors.New("it asks for requirements again and again")
		}
		dirs, err := sdist.Require(ctx, reqs)
		for _, dir := range dirs {
			err = errors.Join(err, in.Mount(pyodide.SitePackages, cache.DirFS(dir)))
		}
		return nil, err
	}
	in, err = t.Runtime.New(ctx, pyodide.Options{
		Memory: buildMemory, Stdout: &said, Stderr: &said,
		Calls: map[string]pyodide.Call{"build.require": {Do: require, MaxArgument: 64 << 10, Waits: true}},
	})
	if err != nil {
		return "", nil, err
	}
	defer in.Close()
	const out = "wheel"
	if err := in.WriteFile(sdist.Filename, sdist.Data); err != nil {
		return "", nil, err
	}
	res, err := in.Run(ctx, pyodide.Program{
		Code: buildScript, Filename: "build.py", Args: []string{sdist.Filename, out}, Timeout: buildLimit, WaitLimit: waitLimit,
	})
	switch {
	case ctx.Err() != nil:
		return "", nil, context.Cause(ctx)
	case err != nil:
		return "", nil, err
	case res.Ended == pyodide.Finished && res.ExitCode == 0 && res.Exception == nil:
		return builtWheel(in.Files(), path.Join(pyodide.Home, out)[1:])
	}
	text := strings.TrimSpace(said.String()) // the backend's, and then the script's reason
	last := text[strings.LastIndexByte(text, '\n')+1:]
	if res.ExitCode == buildRefused && last != "" {
		return "", nil, &resolver.BuildError{Reason: fmt.Sprintf("%.400s", last)}
	}
	return "", nil, &resolver.BuildError{Reason: fmt.Sprintf("its build ended badly (%v, exit code %d)", res.Ended, res.ExitCode)}
}

// builtWheel returns the only file of a directory.
func builtWheel(files fs.FS, dir string) (string, []byte, error) {
	list, err := fs.ReadDir(files, dir)
	if err != nil || len(list) != 1 {
		return "", nil, &resolver.BuildError{Reason: fmt.Sprintf("its build made %d files instead of a wheel", len(list))}
	}
	name := list[0].Name()
	info, err := list[0].Info()
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxBuilt {
		return "", nil, &resolver.BuildError{Reason: "its build made no wheel of a sensible size"}
	}
	b, err := fs.ReadFile(files, path.Join(dir, name))
	return name, b, err
}
