package pyodide

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// stdlibName is the archive's name in /lib, which CPython has built in.
const stdlibName = "python314.zip"

// loadStdlib maps the standard library: compiled to bytecode, if there is a
// store to keep that in, since it takes a while.
func (r *Runtime) loadStdlib(ctx context.Context) error {
	if err := r.useStdlib(r.config.Stdlib); err != nil {
		return err
	}
	if r.config.Store == nil {
		return nil
	}
	bytecode, err := guestFiles.ReadFile("guest/bytecode.py")
	if err != nil {
		return err
	}
	r.stdlibKey = fmt.Sprintf("%x %s %x", sha256.Sum256(r.stdlib), r.module.digest, sha256.Sum256(bytecode))
	path, err := r.config.Store.File(ctx, "stdlib", r.stdlibKey, func(ctx context.Context, w io.Writer) error {
		return r.compileStdlib(ctx, w)
	})
	if err != nil {
		return fmt.Errorf("compile the standard library: %w", err)
	}
	return r.useStdlib(path)
}

func (r *Runtime) useStdlib(path string) error {
	data, unmap, err := mapFile(path)
	if err != nil {
		return fmt.Errorf("load the standard library: %w", err)
	}
	r.unmap = append(r.unmap, unmap)
	r.stdlib = data
	return nil
}

// compileStdlib writes the archive anew, with bytecode.
func (r *Runtime) compileStdlib(ctx context.Context, w io.Writer) error {
	const target = "/tmp/stdlib.zip"
	_, err := r.trusted(ctx, "standard library", "archive(p['source'], p['target'], progress)",
		map[string]string{"source": "/lib/" + stdlibName, "target": target},
		func(files fs.FS) error {
			f, err := files.Open(target[1:])
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = io.Copy(w, f)
			return err
		})
	return err
}

// trusted runs a function of guest/bytecode.py in an interpreter of its own
// and gives its files to use.
func (r *Runtime) trusted(ctx context.Context, item, call string, arg any, use func(fs.FS) error) (*Result, error) {
	source, err := guestFiles.ReadFile("guest/bytecode.py")
	if err != nil {
		return nil, err
	}
	p, err := json.Marshal(arg)
	if err != nil {
		return nil, err
	}
	in, err := r.New(ctx, Options{Memory: 1 << 30, Calls: map[string]func(context.Context, json.RawMessage) (any, error){
		"progress": func(_ context.Context, arg json.RawMessage) (any, error) {
			var n [2]int64
			if err := json.Unmarshal(arg, &n); err != nil {
				return nil, err
			}
			r.progress(Progress{Phase: "compile", Item: item, Done: n[0], Total: n[1]})
			return nil, nil
		},
	}})
	if err != nil {
		return nil, err
	}
	defer in.Close()
	code := string(source) + "\nimport _coderunner, json, sys\n" +
		"def progress(done, total): _coderunner.call('progress', [done, total])\n" +
		"p = json.loads(sys.argv[1])\n" + call
	res, err := in.Run(ctx, Program{Code: code, Filename: "bytecode.py", Args: []string{string(p)}})
	switch {
	case err != nil:
		return nil, err
	case res.Ended == Cancelled:
		return nil, context.Cause(ctx)
	case res.Exception != nil:
		return nil, errors.New(res.Exception.Traceback)
	case res.Ended != Finished || res.ExitCode != 0:
		return nil, fmt.Errorf("the compiling interpreter %v (exit code %d): %w", res.Ended, res.ExitCode, errors.Join(res.Cause))
	}
	return res, use(in.Files())
}

// mapFile gives a file's contents for reading; unmap ends that.
func mapFile(path string) (data []byte, unmap func() error, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	return mapOpen(f, info.Size())
}
