package main

import (
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// newLogger logs to stderr, one JSON object a line.
func newLogger(level zapcore.Level) *zap.Logger {
	c := zap.NewProductionConfig()
	c.Level = zap.NewAtomicLevelAt(level)
	c.Sampling = nil
	c.OutputPaths = []string{"stderr"}
	c.ErrorOutputPaths = []string{"stderr"}
	c.DisableCaller = true
	c.DisableStacktrace = true
	log, err := c.Build()
	if err != nil {
		return zap.NewNop()
	}
	return log
}
