// Package userland is the directory of the programs of a [machine]: bash and the
// commands that scripts expect beside it. They run as Go functions in the machine's
// processes, and see nothing of the host.
//
//	shell     bash 5.2
//	commands  grep, sed, awk, find, tar, jq, … a package for each family
//	glob      patterns of names, as bash matches them
//	regex     POSIX's and GNU's regular expressions
//	printf    the formats of printf(1), awk and bash
//
// [machine]: coderunner/internal/machine
package userland
