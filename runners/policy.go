package runners

// Policy is what programs may touch, from Deno's permission flags. It is one
// policy for both languages. The zero value allows nothing.
//
// The flags are as of Deno 2.9 (deno run --help=full, "Permission options").
type Policy struct {
	// Args are the flags as they were given, in long form, for Deno.
	Args []string

	Read, Write, Net, Env, Run, Sys, FFI, Import   Grant // --allow-*
	DenyRead, DenyWrite, DenyNet, DenyEnv, DenyRun Grant // --deny-*
	DenySys, DenyFFI, DenyImport                   Grant
}

// Grant is one permission: nothing, a list, or everything.
type Grant struct {
	All  bool
	List []string
}
