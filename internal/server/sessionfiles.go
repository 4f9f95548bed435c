package server

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"coderunner/internal/session"
	"coderunner/runners"
)

// sessionURI returns the URI of a file of a session.
func sessionURI(name, path string) string {
	return (&url.URL{Scheme: "runner", Host: "sessions", Path: "/" + name + "/" + path}).String()
}

// SessionFile is for [answer.Resources].
func (*keptRun) SessionFile(session, path string) string { return sessionURI(session, path) }

// addSessionFiles offers the files of all sessions as resources.
func (s *Server) addSessionFiles() {
	template := mcp.NewResourceTemplate("runner://sessions/{session}/{+path}", "file of a session",
		mcp.WithTemplateDescription("A file in the directory of a session; list_files lists them."))
	s.mcp.AddResourceTemplate(template, func(ctx context.Context, r mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		it, err := s.sessionFile(ctx, r.Params.URI)
		if err != nil {
			return nil, err
		}
		return it.read(ctx, r)
	})
}

// sessionFile returns the file of a session that a URI names.
func (s *Server) sessionFile(ctx context.Context, uri string) (item, error) {
	u, err := url.Parse(uri)
	if err != nil || s.config.Sessions == nil || u.Scheme != "runner" || u.Host != "sessions" {
		return item{}, &session.Error{Message: fmt.Sprintf("%q is not a file of a session.", runners.Clip(uri, 200))}
	}
	name, path, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	data, err := s.config.Sessions.ReadFile(ctx, name, path)
	if err != nil {
		return item{}, err
	}
	f := runners.DescribeFile(path, data)
	return item{uri: uri, name: path, mime: f.MIME, data: data}, nil
}

// data returns what a URI of this server stands for.
func (s *Server) data(uri string) ([]byte, bool) {
	if data, ok := s.store.data(uri); ok {
		return data, true
	}
	it, err := s.sessionFile(context.Background(), uri)
	return it.data, err == nil
}
