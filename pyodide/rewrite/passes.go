package rewrite

// Passes is a set of passes that change nothing but the speed of the code on
// wazero's compiler engine, or of compiling it. RATIONALE.md has what each gains.
type Passes uint

// The passes.
const (
	// PassBranches writes a br_if after a comparison as an if.
	PassBranches Passes = 1 << iota
	// PassSpill empties the registers before the loops of an interpreter.
	PassSpill
	// PassElse adds an empty else to an if without one.
	PassElse
	// PassNames sets locals to what they are where paths meet.
	PassNames
	// PassTicks puts the call of the safepoint into an else.
	PassTicks
	// PassCalls puts the way around a call before the call.
	PassCalls
	// PassInline copies short functions into their callers.
	PassInline
	// PassRounds lets loops without calls pay for several rounds at once.
	PassRounds
	// PassStrides checks addresses for several rounds of a loop at once.
	PassStrides
	// PassParts cuts long sequences of side modules so that they are compiled faster.
	PassParts
)
