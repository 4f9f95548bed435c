package backend

import (
	"context"
	"errors"
	"sync/atomic"

	"go.uber.org/zap"
)

// Warm prepares the runtimes in the background, while a client shakes hands. stop ends
// that; Close waits for it. ready returns an error until a runtime is prepared and the
// others have been tried.
func (b *Backend) Warm(ctx context.Context) (stop func(), ready func() error) {
	ctx, cancel := context.WithCancel(ctx)
	var left, failed atomic.Int32
	left.Store(int32(len(b.opened)))
	for _, r := range b.opened {
		r.warming.Go(func() {
			if err := r.Warm(ctx, nil, nil); err != nil && ctx.Err() == nil {
				failed.Add(1)
				b.cfg.Log.Warn("prepare runtime", zap.Error(err))
			}
			left.Add(-1)
		})
	}
	return cancel, func() error {
		switch {
		case left.Load() > 0:
			return errors.New("the runtimes are being prepared")
		case int(failed.Load()) == len(b.opened):
			return errors.New("no runtime could be prepared: the log says why")
		}
		return nil
	}
}
