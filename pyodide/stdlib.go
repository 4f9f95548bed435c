package pyodide

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"slices"
	"strings"
)

// loadStdlib maps the standard library, compiled to bytecode if there is a store
// to keep that.
func (r *Runtime) loadStdlib(ctx context.Context) error {
	if r.config.Store == nil {
		return r.useStdlib(r.config.Stdlib)
	}
	identity, err := r.config.identity(r.config.Stdlib)
	if err != nil {
		return fmt.Errorf("load the standard library: %w", err)
	}
	bytecode, err := guestFiles.ReadFile("guest/bytecode.py")
	if err != nil {
		return err
	}
	r.stdlibKey = fmt.Sprintf("%s %s %x", identity, r.module.digest, sha256.Sum256(bytecode))
	path, err := r.config.Store.File(ctx, "stdlib", r.stdlibKey, func(ctx context.Context, w io.Writer) error {
		if err := r.useStdlib(r.config.Stdlib); err != nil {
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
	err = r.Bytecode(ctx, Bytecode{
		Tree: old, Modules: modules, Shown: "/lib/" + stdlibName,
		Emit: func(module string, pyc []byte) error {
			made[module+"c"] = pyc
			return nil
		},
		Progress: func(done, total int64) {
			r.progress(Progress{Phase: "compile", Item: "standard library", Done: done, Total: total})
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
