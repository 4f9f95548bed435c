package resolver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"coderunner/runners"
	"coderunner/runners/python/requirement"
)

// missing returns the requirements that no pin meets. There are none; this checks
// the resolver's answer.
func missing(reqs []requirement.Requirement, pins []pin) []string {
	var list []string
	for _, r := range reqs {
		met := func(p pin) bool { return p.Name == r.Name }
		if r.Marker == "" && !slices.ContainsFunc(pins, met) {
			list = append(list, r.String())
		}
	}
	return list
}

// question is the input of the resolver script.
type question struct {
	Requirements []string             `json:"requirements"`
	Optional     []string             `json:"optional"`
	Constraints  []string             `json:"constraints"`
	Lock         map[string]lockOffer `json:"lock"`
	Alone        bool                 `json:"alone"`
}

// reply is its output.
type reply struct {
	Invalid  []runners.PackageError `json:"invalid"`
	Failed   []runners.PackageError `json:"failed"`
	Skipped  []runners.PackageError `json:"skipped"`
	Packages []struct {
		Name     string `json:"name"`
		Version  string `json:"version"`
		Filename string `json:"filename"` // "" for one of the lock file

		Needs []string `json:"needs"`
		Older string   `json:"older"`
	} `json:"packages"`
}

// ask runs the resolver script and makes an answer of its reply.
func (s *session) ask(ctx context.Context, req Request) (*answer, error) {
	s.progress(runners.Progress{Phase: "resolve", Item: summary(req)})
	probed := s.probeBase(ctx)
	tools, err := s.tools(ctx)
	<-probed
	if err != nil {
		return nil, s.allFailed(ctx, req, err)
	}
	offers, reasons := s.offered()
	q := question{Requirements: requirement.Key(req.Requirements), Optional: requirement.Key(req.Optional), Constraints: requirement.Key(req.Constraints), Lock: offers, Alone: req.Alone}
	var got *reply
	calls := map[string]Call{
		"question": func(context.Context, []byte) (any, error) { return q, nil },
		"project":  s.callProject,
		"metadata": s.callMetadata,
		"platform": s.callPlatform,
		"answer": func(_ context.Context, argument []byte) (any, error) {
			got = &reply{}
			return nil, json.Unmarshal(argument, got)
		},
	}
	if err := s.trusted.Script(ctx, resolverScript, append(tools, resolverTree), calls); err != nil {
		return nil, fmt.Errorf("resolve packages: %w", err)
	}
	if got == nil {
		return nil, errors.New("resolve packages: the resolver gave no answer")
	}
	return s.accept(req, got, reasons)
}

// accept checks the resolver's reply.
func (s *session) accept(req Request, got *reply, lockReasons map[string]string) (*answer, error) {
	for _, bad := range got.Invalid {
		return nil, &runners.RequestError{
			Argument: "packages",
			Message:  fmt.Sprintf("packages: %q is not a Python requirement: %s", bad.Name, bad.Reason),
		}
	}
	if len(got.Failed) > 0 {
		s.addReasons(got.Failed, lockReasons)
		return nil, &runners.NotInstalledError{Packages: got.Failed}
	}
	s.addReasons(got.Skipped, lockReasons)
	a := &answer{Format: answerFormat, When: time.Now().UTC(), Skipped: got.Skipped}
	for _, p := range got.Packages {
		pin, err := s.pin(p.Name, p.Filename)
		if err != nil {
			return nil, err
		}
		pin.Needs, pin.Older = p.Needs, p.Older
		a.Packages = append(a.Packages, pin)
	}
	if left := missing(req.Requirements, a.Packages); len(left) > 0 {
		return nil, fmt.Errorf("resolve packages: the resolver left out %s", strings.Join(left, ", "))
	}
	a.Pinned = s.locked != nil || pinned(req.Requirements, a.Packages)
	return a, nil
}

// addReasons adds to failed packages why the lock file's builds cannot be
// installed.
func (s *session) addReasons(failed []runners.PackageError, lockReasons map[string]string) {
	for i, f := range failed {
		r, err := requirement.Parse(f.Name)
		if why := lockReasons[r.Name]; err == nil && why != "" && r.Allows(s.lock.ByName[r.Name].Version) {
			failed[i].Reason += "; " + why
		}
	}
}

// allFailed returns every requirement the same reason, when the resolver itself
// is out of reach.
func (s *session) allFailed(ctx context.Context, req Request, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("resolve packages: %w", context.Cause(ctx))
	}
	reason, expected := s.reason(err)
	if !expected {
		return err
	}
	s.unreachable = true
	failed := &runners.NotInstalledError{}
	for _, r := range req.Requirements {
		failed.Add(r.String(), reason)
	}
	if len(failed.Packages) == 0 {
		for _, r := range req.Optional {
			failed.Add(r.String(), reason)
		}
	}
	return failed
}

// summary returns the request's name in progress messages.
func summary(req Request) string {
	names := map[string]bool{}
	for _, r := range append(append([]requirement.Requirement(nil), req.Requirements...), req.Optional...) {
		names[r.Name] = true
	}
	if len(names) > 3 {
		return fmt.Sprintf("%d packages", len(names))
	}
	var list []string
	for name := range maps.Keys(names) {
		list = append(list, name)
	}
	return strings.Join(list, ", ")
}
