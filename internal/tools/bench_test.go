package tools

import (
	"encoding/json"
	"os"
	"testing"

	"go.uber.org/zap"

	"coderunner/internal/tools/config"
	"coderunner/runners"
)

// BenchmarkCall is a call of a server over stdio that does next to nothing.
func BenchmarkCall(b *testing.B) {
	set := Open(&config.Config{Policy: config.Policy{Calls: 1 << 30, Bytes: 1 << 40}, Servers: []config.Server{{Name: "quick", Command: os.Args[0], Env: map[string]string{asServer: "quick"}}}},
		Options{Version: "test", Tokens: b.TempDir(), Log: zap.NewNop()})
	defer set.Close()
	tools := set.For(Run{})
	call := runners.ToolCall{Tool: "quick.echo", Arguments: json.RawMessage(`{"text": "hello"}`)}
	for b.Loop() {
		if _, err := tools.Call(b.Context(), call); err != nil {
			b.Fatal(err)
		}
	}
}
