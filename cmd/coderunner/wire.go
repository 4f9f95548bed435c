package main

import (
	"errors"
	"fmt"

	"go.uber.org/zap"

	"coderunner/cache"
	"coderunner/runners"
)

// backend is what runs programs.
type backend struct {
	policy       runners.Policy
	python, deno runners.Runner
	close        []func() error // in the order of opening
}

// openBackend joins the packages as the configuration says. Nothing is fetched
// yet. The caller closes the backend.
func openBackend(cfg Config, log *zap.Logger) (*backend, error) {
	policy, err := runners.ParsePolicy(cfg.Permissions)
	if err != nil {
		return nil, fmt.Errorf("DENO_PERMISSION_ARGS: %w", err)
	}
	for _, warning := range policy.Warnings() {
		log.Warn(warning)
	}
	c, err := cache.Open(cfg.CacheDir, cache.Options{Offline: cfg.Offline})
	if err != nil {
		return nil, err
	}
	if warning := c.Warning(); warning != "" {
		log.Warn(warning)
	}
	return &backend{policy: policy, close: []func() error{c.Close}}, nil
}

// languages gives the runner of each language.
func (b *backend) languages() map[runners.Language]runners.Runner {
	m := map[runners.Language]runners.Runner{}
	if b.python != nil {
		m[runners.Python] = b.python
	}
	if b.deno != nil {
		m[runners.TypeScript] = b.deno
		m[runners.JavaScript] = b.deno
	}
	return m
}

// all gives the runners.
func (b *backend) all() []runners.Runner {
	var out []runners.Runner
	for _, r := range []runners.Runner{b.python, b.deno} {
		if r != nil {
			out = append(out, r)
		}
	}
	return out
}

// Close ends what openBackend began. No run may be in progress.
func (b *backend) Close() error {
	var errs []error
	for i := len(b.close) - 1; i >= 0; i-- {
		errs = append(errs, b.close[i]())
	}
	return errors.Join(errs...)
}
