package server

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"go.uber.org/zap"

	"coderunner/internal/session"
	"coderunner/runners"
)

// dialogue is a run whose questions are the results of its calls, as revision 2026-07-28
// has it: the client calls again with the answer, and with the state that came with the
// question and names the run. Between two calls the run is parked: it waits, and keeps
// its place and its memory.
type dialogue struct {
	parked    *parked
	run       func(context.Context, session.Call) (*runners.Outcome, error)
	call      programCall
	arguments map[string]json.RawMessage // of the call, which all that follow repeat
	cancel    context.CancelCauseFunc
	questions chan *question // for the call that waits
	done      chan struct{}  // closed when out and err are set
	out       *runners.Outcome
	err       error

	mu     sync.Mutex
	notify notifyFunc // of the call that waits; nil: none wants progress
}

// question is one to the user.
type question struct {
	key    string // its name among those of its result, where it is alone
	params mcp.ElicitationParams
	answer chan func() (consent, error) // has room for one
}

// parked are the dialogues that no call waits for, by their states. A state is
// used once, only its client has it, and it is no longer known after askTime.
type parked struct {
	log *zap.Logger

	mu      sync.Mutex
	byState map[string]*parkedRun
	most    int
	runs    sync.WaitGroup // of all dialogues
}

type parkedRun struct {
	*dialogue
	asked  *question
	expiry *time.Timer
}

var errQuestionClosed = &runners.RequestError{Message: "The program that waited for this answer is not here: the question was answered before, it was open for over " +
	askTime.String() + ", the arguments are not those of its call, or another server has it. Call again without requestState to run the program anew."}

// ask is for asker.
func (d *dialogue) ask(ctx context.Context, key string, params mcp.ElicitationParams) (consent, error) {
	q := &question{key, params, make(chan func() (consent, error), 1)}
	select {
	case d.questions <- q:
	case <-ctx.Done():
		return consent{}, context.Cause(ctx)
	}
	select {
	case answer := <-q.answer:
		return answer()
	case <-ctx.Done():
		return consent{}, context.Cause(ctx)
	}
}

// begin starts the run, which outlives its call.
func (d *dialogue) begin(ctx context.Context) {
	if notifierFrom(ctx) != nil {
		ctx = withNotifier(ctx, d.report)
	}
	ctx, d.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	d.questions, d.done = make(chan *question), make(chan struct{})
	d.parked.runs.Go(func() {
		defer close(d.done)
		defer func() {
			if r := recover(); r != nil {
				d.parked.log.Error("panic in run_code", zap.String("panic", fmt.Sprint(r)), zap.Stack("stack"))
				d.err = errors.New("the server failed")
			}
		}()
		defer d.cancel(nil)
		d.out, d.err = d.run(ctx, d.call.Call)
	})
}

// next waits for the end of the run or its next question. If the call is cancelled, the
// run is, too.
func (d *dialogue) next(ctx context.Context) (*runners.Outcome, *mcp.CallToolResult, error) {
	d.attach(notifierFrom(ctx))
	defer d.attach(nil)
	for {
		select {
		case q := <-d.questions:
			if asks := d.parked.add(d, q); asks != nil {
				return nil, asks, nil
			}
			q.answer <- func() (consent, error) { return consent{}, errors.New("too many questions are open") }
			continue
		case <-d.done:
		case <-ctx.Done():
			d.cancel(context.Cause(ctx))
			<-d.done
		}
		return d.out, nil, d.err
	}
}

// attach lets the progress of the run go to the call that waits. When it returns, no
// other gets any.
func (d *dialogue) attach(notify notifyFunc) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.notify = notify
}

// report is the notifyFunc of the run.
func (d *dialogue) report(progress float64, text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.notify != nil {
		d.notify(progress, text)
	}
}

// add parks a run with its question, and returns the result that asks it; nil: too many
// are parked.
func (p *parked) add(d *dialogue, q *question) *mcp.CallToolResult {
	state := rand.Text()
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.byState) >= p.most {
		return nil
	}
	p.byState[state] = &parkedRun{d, q, time.AfterFunc(askTime, func() {
		if p.take(state, nil) != nil {
			d.cancel(errNoAnswer)
		}
	})}
	return &mcp.CallToolResult{
		Result: mcp.Result{ResultType: mcp.ResultTypeInputRequired},
		MultiRoundTripResult: mcp.MultiRoundTripResult{
			InputRequests: mcp.InputRequests{q.key: mcp.NewElicitationInputRequest(q.params)}, RequestState: state,
		},
	}
}

// take returns the run with a state, which is then no longer known, or nil. Arguments, if
// not nil, must be the call's.
func (p *parked) take(state string, arguments map[string]json.RawMessage) *parkedRun {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.byState[state]
	if r == nil || arguments != nil && !maps.EqualFunc(arguments, r.arguments, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
		return nil
	}
	delete(p.byState, state)
	r.expiry.Stop()
	return r
}

// end cancels the runs that are parked, and returns when all dialogues have ended.
func (p *parked) end() {
	p.mu.Lock()
	for state, r := range p.byState {
		r.expiry.Stop()
		r.cancel(errGone)
		delete(p.byState, state)
	}
	p.mu.Unlock()
	p.runs.Wait()
}
