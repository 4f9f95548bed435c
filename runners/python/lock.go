package python

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"coderunner/runners"
	"coderunner/runners/python/requirement"
)

// errPrepared ends the run of a program that is not to be run.
var errPrepared = errors.New("the program is prepared")

// onlyLock is a module that is not there. A program's imports are only told
// when it imports what Python does not have, so one that is to be locked
// imports this.
const onlyLock = "_coderunner_only_lock"

// Lock prepares what the program of a request needs, as Run would, but does
// not run it, and gives the program with these packages as its lock. When they
// cannot be had, the outcome says so and the text is "". What the program
// installs by micropip.install is not known before it runs.
func (r *Runner) Lock(ctx context.Context, req runners.Request) (text string, o *runners.Outcome, err error) {
	code := req.Code
	req.Code += "\n\nimport " + onlyLock + "\n"
	j, err := r.job(req)
	if err != nil {
		return "", nil, err
	}
	j.only = true
	if o, err = j.do(ctx); err != nil || o.Status != runners.Succeeded {
		return "", o, err
	}
	lock := []requirement.Locked{}
	for _, p := range o.Packages {
		lock = append(lock, requirement.Locked{Name: p.Name, Version: p.Version, Source: p.Source, SHA256: p.SHA256})
	}
	slices.SortFunc(lock, func(a, b requirement.Locked) int { return strings.Compare(a.Name, b.Name) })
	if text, err = requirement.WriteLock(code, lock); err != nil {
		return "", nil, &runners.RequestError{Argument: "code", Message: fmt.Sprintf("code: %v.", err)}
	}
	return text, o, nil
}

// lockOf gives the digests that the request allows, nil when it allows all.
func lockOf(req runners.Request, script requirement.Script) (map[string]string, error) {
	if !req.Locked {
		return nil, nil
	}
	if script.Lock == nil {
		return nil, &runners.RequestError{Argument: "code", Message: "code: the program has no lock; write one with \"coderunner lock FILE\"."}
	}
	locked := map[string]string{}
	for _, l := range script.Lock {
		locked[l.Name] = l.SHA256
	}
	return locked, nil
}
