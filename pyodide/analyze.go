package pyodide

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// Analyze is the host's half: requests, bounds and remembered answers. The
// parsing is in guest/analyze.py.

// Analyze parses a program, in an interpreter that is used for nothing else. It
// does not run it. The analysis of a program that is too large or nested too
// deeply is empty; running it reports that. The error is ctx's cause, or ours.
func (r *Runtime) Analyze(ctx context.Context, s Source) (*Analysis, error) {
	if !s.mayImport() {
		return &Analysis{}, nil
	}
	key := s.digest()
	if found, ok := r.analyses.Get(key); ok {
		return found, nil
	}
	found, err := r.analyze(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("analyze: %w", err)
	}
	r.analyses.Put(key, found)
	return found, nil
}

func (r *Runtime) analyze(ctx context.Context, s Source) (*Analysis, error) {
	in, err := r.New(ctx, Options{Memory: s.Memory})
	if err != nil {
		return nil, err
	}
	defer in.Close()
	files := [][2]any{}
	for _, f := range s.Files {
		if text := f.source(); text != nil {
			files = append(files, [2]any{f.Path, string(text)})
		} else {
			files = append(files, [2]any{f.Path, nil})
		}
	}
	request, err := json.Marshal(map[string]any{"code": s.Code, "files": files, "name": s.Name, "words": s.Words})
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, in.signals.stop)
	defer stop()
	text, err := in.guest(ctx).apply(in.functions.Analyze, string(request), maxAnalysis)
	switch {
	case context.Cause(ctx) != nil:
		return nil, context.Cause(ctx)
	case err != nil && !programsFault(err):
		return nil, err
	case err != nil:
		return &Analysis{}, nil
	}
	return readAnalysis(text)
}

// programsFault reports whether a program can cause the error.
func programsFault(err error) bool {
	var bad *guestError
	return errors.As(err, &bad) || trapOf(err) != "" || errors.Is(err, errNoMemory)
}
