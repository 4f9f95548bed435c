package pyodide

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

// loadStdlib maps the standard library, compiled to bytecode if there is a store
// to keep that.
func (r *Runtime) loadStdlib(ctx context.Context) error {
	if r.config.Store == nil {
		return r.useOwnStdlib()
	}
	identity, err := r.config.identity(r.config.Stdlib)
	if err != nil {
		return fmt.Errorf("load the standard library: %w", err)
	}
	own := sha256.New()
	if err := eachGuestFile(func(name string, data []byte) error {
		fmt.Fprintf(own, "%s %d\n%s", name, len(data), data)
		return nil
	}, "guest/bytecode.py", ownModules); err != nil {
		return err
	}
	r.stdlibKey = fmt.Sprintf("%s %s %x", identity, r.module.digest, own.Sum(nil))
	path, err := r.config.Store.File(ctx, "stdlib", r.stdlibKey, func(ctx context.Context, w io.Writer) error {
		if err := r.useOwnStdlib(); err != nil {
			return err
		}
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

// ownModules is the directory of the modules that we add to the standard library
// or put in the place of upstream's.
const ownModules = "guest/lib"

// eachGuestFile calls f for the embedded files at or below the given names.
func eachGuestFile(f func(name string, data []byte) error, names ...string) error {
	for _, name := range names {
		if err := fs.WalkDir(guestFiles, name, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := guestFiles.ReadFile(path)
			if err != nil {
				return err
			}
			return f(path, data)
		}); err != nil {
			return err
		}
	}
	return nil
}

// useOwnStdlib uses upstream's archive with our modules.
func (r *Runtime) useOwnStdlib() error {
	if err := r.useStdlib(r.config.Stdlib); err != nil {
		return err
	}
	upstream, err := zip.NewReader(bytes.NewReader(r.stdlib), int64(len(r.stdlib)))
	if err != nil {
		return fmt.Errorf("read %s: %w", r.config.Stdlib, err)
	}
	var b bytes.Buffer
	archive := zip.NewWriter(&b)
	own := map[string]bool{}
	err = eachGuestFile(func(name string, data []byte) error {
		name = strings.TrimPrefix(name, ownModules+"/")
		own[name] = true
		return addEntry(archive, name, data)
	}, ownModules)
	for _, f := range upstream.File {
		if err == nil && !own[f.Name] {
			err = archive.Copy(f)
		}
	}
	if err := errors.Join(err, archive.Close()); err != nil {
		return err
	}
	r.stdlib = b.Bytes()
	return nil
}

// compileStdlib writes the archive uncompressed and with bytecode next to the
// sources.
func (r *Runtime) compileStdlib(ctx context.Context, w io.Writer) error {
	old, err := zip.NewReader(bytes.NewReader(r.stdlib), int64(len(r.stdlib)))
	if err != nil {
		return err
	}
	archive := zip.NewWriter(w)
	var modules []string
	for _, f := range old.File {
		if strings.HasSuffix(f.Name, "/") {
			continue
		}
		if strings.HasSuffix(f.Name, ".py") {
			modules = append(modules, f.Name)
		}
		if err := copyEntry(archive, f); err != nil {
			return err
		}
	}
	made := map[string][]byte{}
	begun := int64(0)
	err = r.Bytecode(ctx, Bytecode{
		Trees: []fs.FS{old}, Modules: modules, Shown: "/lib/" + stdlibName,
		Emit: func(module string, pyc []byte) error {
			made[module+"c"] = pyc
			return nil
		},
		Begins: func(string) {
			begun++
			r.progress(Progress{Phase: "compile", Item: "standard library", Done: begun, Total: int64(len(modules))})
		},
	})
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(made)) {
		if err := addEntry(archive, name, made[name]); err != nil {
			return err
		}
	}
	return archive.Close()
}

// maxStdlibFile bounds one file of the standard library, in bytes.
const maxStdlibFile = 16 << 20

func copyEntry(archive *zip.Writer, f *zip.File) error {
	r, err := f.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, maxStdlibFile+1))
	if err != nil {
		return fmt.Errorf("read %s: %w", f.Name, err)
	}
	if len(data) > maxStdlibFile {
		return fmt.Errorf("read %s: it is larger than %d bytes", f.Name, maxStdlibFile)
	}
	return addEntry(archive, f.Name, data)
}

// addEntry stores a file without a data descriptor, which CPython's zipimport
// does not support.
func addEntry(archive *zip.Writer, name string, data []byte) error {
	w, err := archive.CreateRaw(&zip.FileHeader{
		Name: name, Method: zip.Store, CRC32: crc32.ChecksumIEEE(data),
		CompressedSize64: uint64(len(data)), UncompressedSize64: uint64(len(data)),
	})
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}
