package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"coderunner/cache/contents"
	"coderunner/runners"
)

// maxNamed is how many files are named where they are not written.
const maxNamed = 10

// takeOut writes what a program left and showed into the directory of --out,
// or names it if there is none. Text that it showed is printed.
func takeOut(dir string, stdout, stderr io.Writer, out *runners.Outcome) error {
	files := out.Files
	for i, d := range out.Displays {
		if text := d.Plain; text != "" || d.MIME == "text/plain" || d.MIME == "text/markdown" {
			if text == "" {
				text = string(d.Data)
			}
			if _, err := fmt.Fprintln(stdout, strings.TrimRight(text, "\n")); err != nil {
				return err
			}
			continue
		}
		files = append(files, runners.LeftFile{
			Path: fmt.Sprintf("display-%d%s", i+1, runners.Extension(d.MIME)), MIME: d.MIME, Size: int64(len(d.Data)), Data: d.Data})
	}
	if len(files) == 0 {
		return nil
	}
	if dir != "" {
		return writeFiles(dir, stderr, files)
	}
	var names []string
	for _, f := range files[:min(len(files), maxNamed)] {
		names = append(names, fmt.Sprintf("%s (%s)", contents.Printable(f.Path), contents.Size(f.Size)))
	}
	if more := len(files) - len(names) + out.FilesOmitted; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	fmt.Fprintf(stderr, "coderunner: not kept: %s; --out DIR writes files\n", strings.Join(names, ", "))
	return nil
}

// writeFiles writes files into a directory, which is made if need be. It
// leaves the directory by no name and follows no symlink in it.
func writeFiles(dir string, stderr io.Writer, files []runners.LeftFile) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("write files: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("write files: %w", err)
	}
	defer root.Close()
	for _, f := range files {
		if f.Data == nil {
			fmt.Fprintf(stderr, "coderunner: not written: %s (%s, %s)\n", contents.Printable(f.Path), f.MIME, contents.Size(f.Size))
			continue
		}
		if err := writeFile(root, filepath.FromSlash(f.Path), f.Data); err != nil {
			return fmt.Errorf("write %s: %w", contents.Printable(filepath.Join(dir, f.Path)), err)
		}
		fmt.Fprintf(stderr, "coderunner: wrote %s (%s)\n", contents.Printable(filepath.Join(dir, f.Path)), contents.Size(f.Size))
	}
	return nil
}

// writeFile writes one file whole or not at all. Rename replaces a symlink of
// the name.
func writeFile(root *os.Root, name string, data []byte) (err error) {
	parent := "."
	for part := range strings.SplitSeq(path.Dir(filepath.ToSlash(name)), "/") {
		parent = filepath.Join(parent, part)
		if err := root.Mkdir(parent, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if info, err := root.Lstat(parent); err != nil || !info.IsDir() {
			return errors.Join(fmt.Errorf("%s is not a directory", parent), err)
		}
	}
	temp := filepath.Join(parent, ".coderunner-"+rand.Text())
	f, err := root.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = root.Rename(temp, name)
	}
	if err != nil {
		_ = root.Remove(temp)
	}
	return err
}
