package shell

import (
	"slices"
	"strconv"
	"strings"

	"coderunner/internal/userland/shell/builtins"
)

// collect waits for a job.
func (sh *shell) collect(j *job) int {
	if !j.done {
		status := sh.await(j.pid, true)
		if s := sh.next(); s != 0 {
			return status
		}
		j.done, j.status = true, status
	}
	sh.forget(func(x *job) bool { return x == j })
	return j.status
}

func wait(sh *shell, flags builtins.Flags, args []string) int {
	if flags.On('n') {
		return waitAny(sh, flags.Value('p'), args)
	}
	if len(args) == 0 {
		for _, j := range slices.Clone(sh.jobs) {
			if n := sh.collect(j); sh.next() != 0 {
				return n
			}
		}
		return 0
	}
	status := 0
	for _, a := range args {
		j := sh.child(a)
		if j == nil {
			if status = 127; strings.HasPrefix(a, "%") {
				sh.errorf("wait: %s: no such job", a)
			} else if _, err := strconv.Atoi(a); err != nil {
				status = sh.fail("wait: `%s': not a pid or valid job spec", a)
			} else {
				sh.errorf("wait: pid %s is not a child of this shell", a)
			}
			continue
		}
		status = sh.collect(j)
	}
	return status
}

// waitAny waits for the next job that ends, of some if there are operands.
func waitAny(sh *shell, into string, operands []string) int {
	var among []*job
	for _, a := range operands {
		if j := sh.job(a); j != nil {
			among = append(among, j)
		} else {
			sh.errorf("wait: %s: no such job", a)
		}
	}
	if len(operands) == 0 {
		among = slices.DeleteFunc(slices.Clone(sh.jobs), func(j *job) bool { return j.hidden })
	}
	for {
		sh.poll()
		if i := slices.IndexFunc(among, func(j *job) bool { return j.done }); i >= 0 {
			if into != "" && sh.vars.Set(into, strconv.Itoa(among[i].pid)) != nil {
				return 1
			}
			return sh.collect(among[i])
		}
		if len(among) == 0 {
			return 127
		}
		child, status := sh.awaitChild(-1, true)
		if child == 0 {
			return status
		}
		for _, j := range sh.jobs {
			if j.pid == child {
				j.done, j.status = true, status
			}
		}
	}
}
