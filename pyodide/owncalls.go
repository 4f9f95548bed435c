package pyodide

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"coderunner/pyodide/hashlib"
)

// ownCall is a call that every program has, for the modules in guest/lib.
type ownCall struct {
	do          func(ctx context.Context, in *instance, argument json.RawMessage, data []byte) (any, error)
	maxArgument int // as Call.MaxArgument, with the data

	// It waits, or computes for long: other threads run, so it touches neither memory nor descriptors.
	waits, computes bool
}

// ownCalls are those calls by name. Their time is the program's. The context of a
// call ends at signals, too, which those that compute are to outlive: they look
// at the run's.
var ownCalls = map[string]ownCall{
	"hash":   {do: withArgument(callHash), maxArgument: maxHashed, computes: true},
	"pbkdf2": {do: withArgument(callPBKDF2), maxArgument: maxHashed, computes: true},
	"bcrypt": {do: withArgument(callBcrypt), computes: true},
	"romix":  {do: withArgument(callROMix), maxArgument: maxHashed, computes: true},

	"spawn":       {do: withArgument(callSpawn), maxArgument: maxSpawn},
	"wait":        {do: withArgument(callWait), waits: true},
	"kill":        {do: withArgument(callKill)},
	"process":     {do: withArgument(callProcess)},
	"set_group":   {do: withArgument(callSetGroup)},
	"set_session": {do: withArgument(callSetSession)},
	"open_pid":    {do: withArgument(callOpenPID)},
	"processors":  {do: withArgument(callProcessors)},
	"signal":      {do: withArgument(callSignal)},

	"link":      {do: withArgument(callLink), maxArgument: maxPaths},
	"flock":     {do: withArgument(callFlock)},
	"mknod":     {do: withArgument(callMknod), maxArgument: maxPaths},
	"setitimer": {do: withArgument(callSetitimer)},
	"getitimer": {do: withArgument(callGetitimer)},
	"pause":     {do: withArgument(callPause), waits: true},
	"interrupt": {do: withArgument(callInterrupt)},
	"usage":     {do: withArgument(callUsage)},
	"tzset":     {do: withArgument(callTzset)},

	"interrupted": {do: withArgument(callInterrupted), maxArgument: maxPlace},
}

// maxHashed bounds what one call hashes; it counts as the program's memory while
// the call lasts.
const maxHashed = 64 << 20

// withArgument decodes the argument of a call.
func withArgument[A any](do func(ctx context.Context, in *instance, a A, data []byte) (any, error)) func(context.Context, *instance, json.RawMessage, []byte) (any, error) {
	return func(ctx context.Context, in *instance, argument json.RawMessage, data []byte) (any, error) {
		var a A
		if err := json.Unmarshal(argument, &a); err != nil {
			return nil, fmt.Errorf("the argument: %w", err)
		}
		return do(ctx, in, a, data)
	}
}

type hashArgument struct {
	Name  string
	State []byte
	Final bool // the answer is the digest, not the state
}

func callHash(_ context.Context, _ *instance, a hashArgument, data []byte) (any, error) {
	if a.Final {
		return hashlib.Digest(a.Name, a.State, data)
	}
	return hashlib.Update(a.Name, a.State, data)
}

type pbkdf2Argument struct {
	Name           string
	Password, Salt []byte
	Index          uint32
	U, T           []byte
	Rounds         int
}

func callPBKDF2(_ context.Context, _ *instance, a pbkdf2Argument, _ []byte) (any, error) {
	u, t, done, err := hashlib.PBKDF2(a.Name, a.Password, a.Salt, a.Index, a.U, a.T, a.Rounds)
	return map[string]any{"u": u, "t": t, "done": done}, err
}

type bcryptArgument struct {
	Password, Salt []byte
	Cost           int
}

func callBcrypt(ctx context.Context, in *instance, a bcryptArgument, _ []byte) (any, error) {
	return hashlib.Bcrypt(in.ofRun(ctx), a.Password, a.Salt, a.Cost)
}

// ofRun returns the context of the run, or ctx if there is none.
func (in *instance) ofRun(ctx context.Context) context.Context {
	if in.running != nil {
		return in.running
	}
	return ctx
}

func callROMix(ctx context.Context, in *instance, n int, block []byte) (any, error) {
	ctx = in.ofRun(ctx)
	const most = 1 << 31 // CPython's bound of maxmem
	size := int64(len(block))
	if n < 0 || size > 0 && int64(n) > most/size {
		return nil, errors.New("n is too large")
	}
	need := hashlib.ROMixMemory(size, int64(n))
	if !in.fs.Reserve(need) {
		return nil, fmt.Errorf("%w: %d bytes", errNoMemory, need)
	}
	defer in.fs.Unreserve(need)
	err := hashlib.ROMix(ctx, block, n)
	return block, err
}
