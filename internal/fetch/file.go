package fetch

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"

	"coderunner/cache"
)

// fetchFile answers from a directory instead of a server, so that a registry may
// be a directory. A directory's page is its index.html; a missing file is a 404.
func fetchFile(r request, use func(answer) error) error {
	path := filepath.FromSlash(r.url.Path)
	f, err := os.Open(path)
	if err == nil {
		if info, serr := f.Stat(); serr == nil && info.IsDir() {
			f.Close()
			f, err = os.Open(filepath.Join(path, "index.html"))
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return &statusError{HTTPError: HTTPError{Status: http.StatusNotFound, URL: safeURL(r.url)}}
	}
	if err != nil {
		return cache.NewStorageError("open", path, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	if err != nil {
		return cache.NewStorageError("read", path, err)
	}
	header := http.Header{}
	if filepath.Ext(f.Name()) == ".html" {
		header.Set("Content-Type", "text/html")
	}
	return use(answer{header, r.url, info.Size(), f})
}
