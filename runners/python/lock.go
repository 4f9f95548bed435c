package python

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"coderunner/runners"
	"coderunner/runners/python/requirement"
)

// Lock prepares the packages of a request's program, as Run would, and does not run
// it. See [runners.Runner]. Of micropip.install's requirements only literal ones
// are known.
func (r *Runner) Lock(ctx context.Context, req runners.Request) (*runners.Locked, error) {
	j, err := r.job(req)
	if err != nil {
		return nil, err
	}
	j.pk.Only = true
	o, err := j.do(ctx)
	switch {
	case err != nil:
		return nil, err
	case o.Status == runners.NotInstalled:
		return nil, &runners.NotInstalledError{Packages: o.Error.Packages}
	case o.Status == runners.Cancelled:
		return nil, context.Cause(ctx)
	case o.Status != runners.Succeeded:
		return nil, fmt.Errorf("analyse the program: %s: %s", o.Status, o.Error.Message)
	}
	lock := []requirement.Locked{}
	for _, p := range o.Packages {
		lock = append(lock, requirement.Locked{Name: p.Name, Version: p.Version, Source: p.Source, SHA256: p.SHA256})
	}
	slices.SortFunc(lock, func(a, b requirement.Locked) int { return strings.Compare(a.Name, b.Name) })
	text, err := requirement.WriteLock(req.Code, lock)
	if err != nil {
		return nil, runners.BadArgument("code", "cannot take a lock: %v.", err)
	}
	return &runners.Locked{Text: text, Packages: o.Packages}, nil
}
