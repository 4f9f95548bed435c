// Package stdin is the standard input of this process as programs read it: a pipe whose
// rest is left to others, such as the loop of a shell, and a terminal with modes.
package stdin
