// Package relayout rearranges the machine code that wazero's compiler writes for amd64: the
// same checks, with fewer instructions and in another place.
//
// wazero writes the exit of each check (45 bytes) into the line of execution,
// behind a branch that is nearly always taken, after a copy of the execution
// context that only the exit reads. After [File]
//
//   - exits are stubs behind their function, shared by its checks with the same
//     exit code and the same place of the context, and a check is a branch that is
//     never taken;
//   - a stub reads the context where the function keeps it, often in a stack slot,
//     and copies and reloads that nothing else reads are gone;
//   - a copy and an addition to it, as before each check, are one instruction;
//   - who reads whether a condition is true reads the flags, where they still tell;
//   - what writes half of an xmm register does not wait for the other half;
//   - registers are read at the source of copies, and no upper half is cleared that
//     is 0 already;
//   - memory operands have the sums that are only for them, and what a logical
//     operation has computed is not tested again;
//   - instructions have constants as operands;
//   - a byte is the index of a jump table without the clamp to its length;
//   - what grows the stack is behind the function;
//   - branches have two bytes where they can, and lead where the jump at their
//     target leads.
//
// No check is merged, weakened or reordered. RATIONALE.md has what this gains, what
// it relies on and how that is tested.
//
// # Sources
//
// wazero 1.12, internal/engine/wazevo/backend/isa/amd64: the encodings of
// instr_encoding.go, the convention of abi.go, the exits of lowerExitWithCode, the
// tables of lowerBrTable, the frames of machine_pro_epi_logue.go; and the file of
// internal/engine/wazevo/engine_cache.go. Files of other versions are refused.
//
// # Limits
//
// Code with an instruction that is not in the tables of opcodes.go is refused as a
// whole, since its calls cannot be found. A function that is decoded and has
// another shape than expected is kept as it is, but for the targets of its calls.
package relayout
