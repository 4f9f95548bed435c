//go:build linux

package hostile

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// poverty is what a poor kernel, or a container, does not give: system calls
// that fail, by name of the case.
var poverty = map[string][]denied{
	"no-landlock": {{nr: unix.SYS_LANDLOCK_CREATE_RULESET, errno: unix.ENOSYS}, {nr: unix.SYS_LANDLOCK_ADD_RULE, errno: unix.ENOSYS}, {nr: unix.SYS_LANDLOCK_RESTRICT_SELF, errno: unix.ENOSYS}},
	"no-filters":  {{nr: unix.SYS_SECCOMP, errno: unix.ENOSYS}, {nr: unix.SYS_PRCTL, first: unix.PR_SET_SECCOMP, errno: unix.EINVAL}},
	"no-tracing":  {{nr: unix.SYS_PTRACE, errno: unix.EPERM}},
	"old": {{nr: unix.SYS_MEMFD_CREATE, errno: unix.ENOSYS}, {nr: unix.SYS_PIDFD_OPEN, errno: unix.ENOSYS}, {nr: unix.SYS_CLOSE_RANGE, errno: unix.ENOSYS},
		{nr: unix.SYS_OPENAT2, errno: unix.ENOSYS}, {nr: unix.SYS_CLONE3, errno: unix.ENOSYS}, {nr: unix.SYS_IO_URING_SETUP, errno: unix.EPERM},
		{nr: unix.SYS_USERFAULTFD, errno: unix.EPERM}, {nr: unix.SYS_COPY_FILE_RANGE, errno: unix.ENOSYS}, {nr: unix.SYS_UNSHARE, errno: unix.EPERM}},
	"no-networks":  {{nr: unix.SYS_UNSHARE, errno: unix.EPERM}},
	"no-locks":     {{nr: unix.SYS_FLOCK, errno: unix.ENOLCK}},
	"no-processes": {{nr: unix.SYS_CLONE, unless: unix.CLONE_THREAD, errno: unix.EAGAIN}, {nr: unix.SYS_CLONE3, errno: unix.ENOSYS}},
}

// denied is a system call that fails.
type denied struct {
	nr     uint32
	first  uint32 // only with this first argument, if it is not 0
	unless uint32 // but not if the first argument has these bits
	errno  unix.Errno
}

// filter makes the instructions that have calls fail.
func filter(calls []denied) []unix.SockFilter {
	const number, firstArgument = 0, 16
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	jump := func(kind uint16, k uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_K | kind, K: k, Jt: yes, Jf: no}
	}
	answer := func(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k} }
	var p []unix.SockFilter
	for _, c := range calls {
		fail := answer(unix.SECCOMP_RET_ERRNO | uint32(c.errno))
		p = append(p, load(number))
		switch {
		case c.first != 0:
			p = append(p, jump(unix.BPF_JEQ, c.nr, 0, 3), load(firstArgument), jump(unix.BPF_JEQ, c.first, 0, 1), fail)
		case c.unless != 0:
			p = append(p, jump(unix.BPF_JEQ, c.nr, 0, 3), load(firstArgument), jump(unix.BPF_JSET, c.unless, 1, 0), fail)
		default:
			p = append(p, jump(unix.BPF_JEQ, c.nr, 0, 1), fail)
		}
	}
	return append(p, answer(unix.SECCOMP_RET_ALLOW))
}

// bePoor is the role of a process that gives up what the arguments say and then
// becomes the program after them: names of poverty, "files=64" for a limit of
// descriptors, "space=4096" for MiB of addresses, "processors=1", "monotonic=5"
// for a clock that is so many seconds ahead.
func bePoor(args []string) error {
	end := slices.Index(args, "--")
	runtime.LockOSThread()
	var calls []denied
	for _, what := range args[:end] {
		name, value, _ := strings.Cut(what, "=")
		n, _ := strconv.ParseUint(value, 10, 64)
		var err error
		switch name {
		case "files":
			err = unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: n, Max: n})
		case "monotonic":
			offset, _ := strconv.ParseInt(value, 10, 64)
			err = ownMonotonic(offset)
		case "space":
			err = unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: n << 20, Max: n << 20})
		case "processors":
			var have, few unix.CPUSet
			if err = unix.SchedGetaffinity(0, &have); err == nil {
				for cpu := 0; few.Count() < int(n) && cpu < 1024; cpu++ {
					if have.IsSet(cpu) {
						few.Set(cpu)
					}
				}
				err = unix.SchedSetaffinity(0, &few)
			}
		default:
			if poverty[name] == nil {
				return fmt.Errorf("what is %q?", what)
			}
			calls = append(calls, poverty[name]...)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	if len(calls) > 0 {
		p := filter(calls)
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return err
		}
		prog := unix.SockFprog{Len: uint16(len(p)), Filter: &p[0]}
		if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0); err != nil {
			return err
		}
	}
	env := slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, roleVariable+"=") })
	return syscall.Exec(args[end+1], args[end+1:], env)
}

// poorly makes a command run poorly.
func poorly(cmd *exec.Cmd, poor []string) {
	cmd.Args = slices.Concat([]string{os.Args[0]}, poor, []string{"--", cmd.Path}, cmd.Args[1:])
	cmd.Path = os.Args[0]
	cmd.Env = append(cmd.Env, roleVariable+"=poor")
}

// diagnosis is what the doctor says of it.
type diagnosis struct {
	Isolation struct {
		JavaScript struct {
			Level   string   `json:"level"`
			Missing []string `json:"missing"`
		} `json:"javascript"`
	} `json:"isolation"`
}

// diagnose asks the doctor, who runs poorly, too.
func diagnose(t *testing.T, poor ...string) (level, missing string) {
	t.Helper()
	cmd := exec.Command(binary, "doctor", "--json")
	cmd.Env = append(baseEnv(), "CODE_RUNNER_CACHE_DIR="+suiteCache, "CODE_RUNNER_OFFLINE=1", "TMPDIR="+t.TempDir())
	poorly(cmd, poor)
	out, _ := cmd.Output() // its code says only that something is missing
	var d diagnosis
	if err := json.Unmarshal(out, &d); err != nil {
		t.Fatalf("the doctor says %q: %v", clip(string(out), 500), err)
	}
	return d.Isolation.JavaScript.Level, strings.Join(d.Isolation.JavaScript.Missing, "; ")
}

// TestPoorKernel starts servers where the kernel, or a container, refuses much:
// 68. They fall back and say so, and what holds without the kernel holds.
//
// Row 68.
func TestPoorKernel(t *testing.T) {
	needsServer(t)
	t.Parallel()
	rich, _ := diagnose(t)
	for _, c := range []struct {
		name    string
		poor    []string
		missing string // what the doctor must name, if this machine has it
		js      string // what JavaScript must say if it does not run
		py      string // the same of Python
	}{
		{name: "no Landlock", poor: []string{"no-landlock"}, missing: "Landlock"},
		{name: "no filters of system calls", poor: []string{"no-filters"}, missing: "filter"},
		{name: "neither", poor: []string{"no-landlock", "no-filters"}, missing: "Landlock"},
		{name: "no tracing", poor: []string{"no-tracing"}},
		{name: "no namespaces", poor: []string{"no-networks"}},
		{name: "an older kernel", poor: []string{"old"}},
		{name: "one processor", poor: []string{"processors=1"}},
		{name: "64 descriptors", poor: []string{"files=64"}},
		{name: "no locks", poor: []string{"no-locks"}},
		{name: "no new processes", poor: []string{"no-processes"}, js: "temporarily unavailable", py: "temporarily unavailable"},
		{name: "4 GiB of addresses", poor: []string{"space=4096"}, js: "memory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			level, missing := diagnose(t, c.poor...)
			if (level == "full") != (missing == "") {
				t.Errorf("the doctor says %s: %s", level, missing)
			}
			if c.missing != "" {
				if rich == "full" && (level == "full" || !strings.Contains(missing, c.missing)) {
					t.Errorf("the doctor says %s: %s", level, missing)
				}
				if s, err := launch(t, settings{poor: c.poor, env: []string{"CODE_RUNNER_ISOLATION=require"}}); err == nil {
					s.stop()
					if level != "full" {
						t.Error("it runs below the isolation that is required")
					}
				} else if !strings.Contains(err.Error(), c.missing) {
					t.Errorf("it does not say what is missing: %v", err)
				}
			}
			s := start(t, settings{poor: c.poor})
			if err := s.probe(python); (err == nil) != (c.py == "") || err != nil && !strings.Contains(err.Error(), c.py) {
				t.Errorf("%v\n%s", err, clip(s.logs(), 2000))
			}
			o, text, err := s.run(arguments{Language: javascript, Code: "const t = [];\ntry { t.push(Deno.readTextFileSync('" + places.secret + "')) } catch (e) { t.push(e.name) }\ntry { await fetch('http://" + places.listen + "/'); t.push('reached') } catch (e) { t.push(e.name) }\nt.join()"})
			switch {
			case c.js != "" && (err == nil && o.Status == "succeeded" || !strings.Contains(text, c.js)):
				t.Errorf("JavaScript: %v %s", err, text)
			// In a network of its own it may try, and meets nobody.
			case c.js == "" && (err != nil || o.text() != `"NotFound,NotCapable"` && (o.text() != `"NotFound,TypeError"` || c.poor[0] == "no-networks")):
				t.Errorf("JavaScript: %v %s\n%s", err, text, clip(s.logs(), 2000))
			}
			if text := s.description(t); !strings.Contains(text, "by the system ("+level+")") {
				t.Errorf("the tool's description does not say %s: %s", level, text)
			}
			if _, err := s.stop(); err != nil {
				t.Errorf("%v\n%s", err, clip(s.logs(), 2000))
			}
		})
	}
}

// description is what the tool says of itself.
func (s *server) description(t *testing.T) string {
	t.Helper()
	m, err := s.request(t.Context(), "tools/list", map[string]any{})
	if err != nil {
		t.Fatal(err)
	}
	var r struct {
		Tools []struct {
			Name        string `json:"name"`
			Description string `json:"description"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(m.Result, &r); err != nil {
		t.Fatalf("%v: %s", err, m.Result)
	}
	for _, tool := range r.Tools {
		if tool.Name == "run_code" {
			return tool.Description
		}
	}
	t.Fatalf("there is no run_code among the tools: %s", m.Result)
	return ""
}
