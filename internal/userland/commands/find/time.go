package find

import (
	"strings"
	"time"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/clock"
	"coderunner/internal/userland/commands/command"
)

// timeOf returns the time of a file that a letter of a test's name stands for. What a
// file was born as is not kept; its last change comes nearest.
func timeOf(st *abi.Stat, letter byte) abi.Timespec {
	switch letter {
	case 'a':
		return st.Atime
	case 'c', 'B':
		return st.Ctime
	}
	return st.Mtime
}

// isNewer reports whether a test is -newerXY: X is the file's time, Y that of another file
// or, as t, a time that is written out.
func isNewer(name string) bool {
	xy, ok := strings.CutPrefix(name, "-newer")
	return ok && len(xy) == 2 && strings.IndexByte("aBcm", xy[0]) >= 0 && strings.IndexByte("aBcmt", xy[1]) >= 0
}

func newer(f *finder, name, arg string) test {
	of, as := byte('m'), byte('m')
	switch {
	case isNewer(name):
		of, as = name[len(name)-2], name[len(name)-1]
	case name != "-newer": // -anewer, -cnewer
		of = name[1]
	}
	var than abi.Timespec
	if as == 't' {
		t, ok := clock.ParseDate(arg, f.c.Zone())
		if !ok {
			f.c.Exit(1, "I cannot figure out how to interpret %s as a date or time", command.Quote(arg))
		}
		than = abi.NewTimespec(t)
	} else {
		st, err := f.c.Stat(arg)
		f.c.Need(err, 1, "%s", command.Quote(arg))
		than = timeOf(&st, as)
	}
	return func(_ *finder, e *found) bool { return than.Before(timeOf(&e.st, of)) }
}

// age is -mtime, -mmin and their like. Days are whole ones: what is younger than a day is 0
// days old. Minutes are not: -mmin -1 is younger than one.
func age(f *finder, name, arg string) test {
	sign, want := f.number(arg, "invalid argument `%s' to `%s'", arg, name)
	unit, least, most := 24*time.Hour, want, want+1
	if strings.HasSuffix(name, "min") {
		unit, least, most = time.Minute, want-1, want
	}
	return func(f *finder, e *found) bool {
		age := float64(f.now.Sub(timeOf(&e.st, name[1]).Time())) / float64(unit)
		switch sign {
		case '+':
			return age >= most
		case '-':
			return age < want
		}
		return least <= age && age < most
	}
}
