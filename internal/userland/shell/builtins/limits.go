package builtins

import (
	"fmt"
	"strconv"
	"strings"

	"coderunner/internal/userland/shell/files"
)

// umask is umask.
func umask(sh Shell, flags Flags, args []string) int {
	symbolic, again := flags.On('S'), ""
	if flags.On('p') {
		again = "umask "
	}
	if len(args) == 0 {
		if !symbolic {
			return sh.Print("umask", fmt.Sprintf("%s%04o\n", again, sh.Files().Umask))
		}
		if again != "" {
			again += "-S "
		}
		m := ^sh.Files().Umask
		who := func(shift int) string {
			s := ""
			for i, c := range "rwx" {
				if m>>(shift+2-i)&1 != 0 {
					s += string(c)
				}
			}
			return s
		}
		return sh.Print("umask", again+"u="+who(6)+",g="+who(3)+",o="+who(0)+"\n")
	}
	if c := args[0][:min(1, len(args[0]))]; c != "" && !strings.Contains("0123456789", c) {
		mask, wrong := symbolicMask(sh.Files().Umask, args[0])
		if wrong != "" {
			return fail(sh, "umask: `%s': invalid symbolic mode %s", wrong[:1], wrong[1:])
		}
		sh.Files().Umask = mask
		return 0
	}
	n, err := strconv.ParseUint(args[0], 8, 32)
	if err != nil || n > 0o777 {
		return fail(sh, "umask: %s: octal number out of range", args[0])
	}
	sh.Files().Umask = uint32(n)
	return 0
}

// symbolicMask returns the mask that u=rwx,g-w,o= makes of one, or the character that is
// wrong and what it should be.
func symbolicMask(mask uint32, text string) (result uint32, wrong string) {
	allowed := ^mask & 0o777
	for clause := range strings.SplitSeq(text, ",") {
		ops := strings.TrimLeft(clause, "ugoa")
		who := clause[:len(clause)-len(ops)]
		if ops == "" || !strings.Contains("+-=", ops[:1]) {
			return mask, (ops + ",")[:1] + "operator"
		}
		places, bits := uint32(0), uint32(0)
		for i, c := range "ogu" {
			if who == "" || strings.ContainsRune(who, c) || strings.Contains(who, "a") {
				places |= 1 << (3 * i)
			}
		}
		for _, c := range ops[1:] {
			i := strings.IndexRune("xwr", c)
			if i < 0 {
				return mask, string(c) + "character"
			}
			bits |= 1 << i
		}
		switch bits *= places; ops[0] {
		case '+':
			allowed |= bits
		case '-':
			allowed &^= bits
		default:
			allowed = allowed&^(7*places) | bits
		}
	}
	return ^allowed & 0o777, ""
}

// ulimit shows that limits belong to the run, and takes those that are set.
func ulimit(sh Shell, args []string) int {
	for i, a := range args {
		if i > 0 && (a == "-n" || a == "-Sn" || a == "-Hn") && i == len(args)-1 {
			return sh.Print("ulimit", strconv.Itoa(files.MaxFD+1)+"\n")
		}
	}
	if last := args[len(args)-1]; len(args) == 1 || strings.HasPrefix(last, "-") {
		return sh.Print("ulimit", "unlimited\n")
	}
	return 0
}
