// Package stdin is the standard input of this process as programs read it: a pipe, of which
// what is not read is left to others, such as a shell's loop, or a terminal with its modes.
package stdin
