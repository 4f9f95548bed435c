package shell

import (
	"fmt"
	"strconv"
	"strings"
)

// umaskBuiltin is umask.
func (sh *shell) umaskBuiltin(args []string) int {
	args = args[1:]
	symbolic := len(args) > 0 && args[0] == "-S"
	if symbolic {
		args = args[1:]
	}
	if len(args) == 0 {
		if !symbolic {
			return sh.print("umask", fmt.Sprintf("%04o\n", sh.umask))
		}
		m := ^sh.umask
		who := func(shift int) string {
			s := ""
			for i, c := range "rwx" {
				if m>>(shift+2-i)&1 != 0 {
					s += string(c)
				}
			}
			return s
		}
		return sh.print("umask", "u="+who(6)+",g="+who(3)+",o="+who(0)+"\n")
	}
	n, err := strconv.ParseUint(args[0], 8, 32)
	if err != nil || n > 0o777 {
		sh.errorf("umask: %s: octal number out of range", args[0])
		return 1
	}
	sh.umask = uint32(n)
	return 0
}

// ulimit shows that limits belong to the run, and takes those that are set.
func (sh *shell) ulimit(args []string) int {
	for i, a := range args {
		if i > 0 && (a == "-n" || a == "-Sn" || a == "-Hn") && i == len(args)-1 {
			return sh.print("ulimit", strconv.Itoa(maxFD+1)+"\n")
		}
	}
	if last := args[len(args)-1]; len(args) == 1 || strings.HasPrefix(last, "-") {
		return sh.print("ulimit", "unlimited\n")
	}
	return 0
}
