package jq

import (
	"context"
	"reflect"

	"github.com/itchyny/gojq"

	"coderunner/internal/userland/commands/command"
)

// maxPath bounds the paths that a filter is on, which gojq recurses over.
const maxPath = 200_000

// limits is the context of a running filter. gojq asks it for Done before every
// instruction, which is where the filter is stopped. What a filter holds is charged
// nowhere: whoever runs the command watches the memory of all (sysmem.Watch).
type limits struct {
	context.Context
	c       *command.Call
	order   *order
	env     reflect.Value // gojq's state
	stopped chan struct{}
	failed  error // why the filter was stopped, other than by the context
	steps   int
}

// lookEvery is the instructions after which a filter looks at the context and at the paths.
const lookEvery = 1 << 12

func newLimits(c *command.Call, order *order) *limits {
	return &limits{Context: c.Ctx, c: c, order: order, stopped: make(chan struct{})}
}

// run runs a filter within the limits.
func (l *limits) run(code *gojq.Code, v any, values []any) gojq.Iter {
	iter := code.RunWithContext(l, v, values...)
	l.env = reflect.ValueOf(iter)
	if l.env.Kind() == reflect.Pointer {
		l.env = l.env.Elem()
	}
	return iter
}

// Done is called before every instruction of the filter.
func (l *limits) Done() <-chan struct{} {
	if l.steps++; l.steps < lookEvery {
		return l.stopped
	}
	l.steps = 0
	switch {
	case l.Context.Err() != nil:
		return l.Context.Done()
	case l.failed != nil || l.env.Kind() != reflect.Struct:
	case l.env.FieldByName("paths").Elem().FieldByName("data").Len() > maxPath:
		l.failed = errDeep
		close(l.stopped)
	}
	return l.stopped
}

// Err says why the filter was stopped.
func (l *limits) Err() error {
	if l.failed != nil {
		return l.failed
	}
	return l.Context.Err()
}
