package resolver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"

	"coderunner/cache"
	"coderunner/internal/fetch"
	"coderunner/internal/trace"
	"coderunner/runners"
	"coderunner/runners/python/index"
	"coderunner/runners/python/wheel"
)

// download returns the path of a wheel's file.
func (s *session) download(ctx context.Context, p pin) (string, error) {
	if p.SHA256 == "" {
		return "", fmt.Errorf("%s: %w", p.Filename, errNoHash)
	}
	if p.URL == "" {
		if err := s.locate(ctx, &p); err != nil {
			return "", err
		}
	}
	u, err := s.address(p)
	if err != nil {
		return "", err
	}
	defer trace.Begin("download " + p.Filename)()
	path, cached, err := s.fetch.Blob(ctx, fetch.Source{
		URL: u.String(), From: s.registry(p).String(), Digest: cache.SHA256(p.SHA256), MaxSize: p.maxSize(), Name: p.Filename,
	}, func(done, total int64) {
		s.progress(runners.Progress{Phase: "download", Item: p.Filename, Done: done, Total: max(total, 0)})
	})
	if err != nil {
		if _, ok := errors.AsType[*cache.StorageError](err); !ok {
			err = &fetchError{err}
		}
		if p.Source == sourcePyodide {
			err = &baseError{p.Name, err}
		}
		return "", err
	}
	if !cached {
		s.mu.Lock()
		s.downloaded[p.SHA256] = true
		s.mu.Unlock()
	}
	return path, nil
}

// address returns a wheel's URL, with the registry's credentials if it is on the
// registry's own host, as pip does.
func (s *session) address(p pin) (*url.URL, error) {
	u, err := url.Parse(p.URL)
	if err != nil {
		return nil, fmt.Errorf("%s: malformed URL", p.Filename)
	}
	registry := s.registry(p)
	if u.Host == registry.Host && u.Scheme == registry.Scheme {
		u.User = registry.User
	}
	return u, nil
}

// registry returns the registry that the package's URL comes from.
func (s *session) registry(p pin) *url.URL {
	if p.Source == sourcePyodide {
		return s.base
	}
	return s.index
}

func openWheel(f *os.File, filename string) (*wheel.Wheel, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read wheel %s: %w", filename, err)
	}
	return wheel.Open(f, info.Size(), filename, wheel.DefaultLimits)
}

// locate looks up the URL of a pinned wheel on the index.
func (s *session) locate(ctx context.Context, p *pin) error {
	files, err := s.page(ctx, p.Name)
	if errors.Is(err, fetch.ErrOffline) {
		// The cache may have the file nevertheless.
		p.URL = fetch.WithoutUser(s.index.JoinPath(p.Filename).String())
		return nil
	}
	if err != nil {
		return err
	}
	for _, f := range files {
		if f.Filename == p.Filename {
			p.URL = f.URL
			return nil
		}
	}
	return &indexError{fmt.Errorf("it does not have %s", p.Filename)}
}

// page fetches a project's page from the index.
func (s *session) page(ctx context.Context, name string) ([]index.File, error) {
	defer trace.Begin("fetch the page of " + name)()
	u := s.index.JoinPath(name + "/")
	resp, err := s.fetch.Get(ctx, u.String(), http.Header{"Accept": {index.Accept}}, index.MaxPage)
	if status, ok := errors.AsType[*fetch.HTTPError](err); ok && (status.Status == http.StatusNotFound || status.Status == http.StatusGone) {
		return nil, errNoProject
	}
	if err != nil {
		if ctx.Err() == nil {
			s.unreachable.Store(true)
		}
		return nil, &indexError{err}
	}
	files, err := index.Parse(resp.Header.Get("Content-Type"), resp.Body, fetch.WithoutUser(resp.URL))
	if err != nil {
		s.unreachable.Store(true) // not the index: a proxy, a login page
		return nil, &indexError{err}
	}
	return files, nil
}
