package main

import (
	"os"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"golang.org/x/term"
)

// newLogger logs to stderr, one JSON object a line, or for people on a terminal.
func newLogger(level zapcore.Level) *zap.Logger {
	c := zap.NewProductionConfig()
	c.Level = zap.NewAtomicLevelAt(level)
	c.Sampling = nil
	c.OutputPaths = []string{"stderr"}
	c.ErrorOutputPaths = []string{"stderr"}
	c.DisableCaller = true
	c.DisableStacktrace = true
	if term.IsTerminal(int(os.Stderr.Fd())) {
		c.Encoding, c.EncoderConfig.ConsoleSeparator, c.EncoderConfig.TimeKey = "console", ": ", ""
		c.EncoderConfig.EncodeLevel = func(l zapcore.Level, out zapcore.PrimitiveArrayEncoder) {
			out.AppendString("coderunner: " + l.String())
		}
	}
	log, err := c.Build()
	if err != nil {
		return zap.NewNop()
	}
	return log
}
