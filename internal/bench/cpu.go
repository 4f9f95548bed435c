package main

import (
	"embed"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"
)

// Programs that compute for a second or a few, each printing a RESULT line
// that must be the one in EXPECTED.txt, and the ELAPSED_MS of its own clock.
//
//go:embed testdata/cpu
var cpuFiles embed.FS

// usualCPURuns is few: each takes seconds, on each of the hosts.
const usualCPURuns = 1

// cpuCases are those programs as processes, on every host.
func cpuCases(h *hosts) ([]benchCase, error) {
	expected, err := cpuExpected()
	if err != nil {
		return nil, err
	}
	names, err := fs.Glob(cpuFiles, "testdata/cpu/*.py")
	if err != nil {
		return nil, err
	}
	var cases []benchCase
	for _, name := range names {
		code, err := cpuFiles.ReadFile(name)
		if err != nil {
			return nil, err
		}
		file := path.Base(name)
		want, ok := expected[file]
		if !ok {
			return nil, fmt.Errorf("testdata/cpu/EXPECTED.txt has no line for %s", file)
		}
		if err := h.writeFile(file, code); err != nil {
			return nil, err
		}
		cases = append(cases, benchCase{
			topic: "cpu", name: strings.TrimSuffix(file, ".py"), want: want, usual: usualCPURuns,
			contenders: h.pythonProcesses(file, func(stdout string, s *sample) (err error) {
				s.Answer, s.Own, err = readElapsed(stdout)
				return err
			}),
		})
	}
	return cases, nil
}

// cpuExpected gives the RESULT lines by file.
func cpuExpected() (map[string]string, error) {
	data, err := cpuFiles.ReadFile("testdata/cpu/EXPECTED.txt")
	if err != nil {
		return nil, err
	}
	lines := map[string]string{}
	for line := range strings.Lines(string(data)) {
		file, result, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok || !strings.HasPrefix(result, "RESULT ") {
			return nil, fmt.Errorf("testdata/cpu/EXPECTED.txt: bad line %q", line)
		}
		lines[file] = result
	}
	return lines, nil
}

// readElapsed takes the result and the time that a program says it took.
func readElapsed(stdout string) (result string, took time.Duration, err error) {
	var elapsed string
	for line := range strings.Lines(stdout) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "RESULT ") {
			result = line
		}
		if v, ok := strings.CutPrefix(line, "ELAPSED_MS "); ok {
			elapsed = v
		}
	}
	if result == "" {
		return "", 0, fmt.Errorf("%w: no RESULT line", errWrong)
	}
	v, err := strconv.ParseFloat(elapsed, 64)
	if err != nil || !(v > 0 && v < 1e7) {
		return "", 0, fmt.Errorf("%w: ELAPSED_MS %.20q is no time", errWrong, elapsed)
	}
	return result, time.Duration(v * float64(time.Millisecond)), nil
}

// writeCPU shows the programs by their own clocks and with all that it takes
// to start them.
func writeCPU(w io.Writer, results []*result) error {
	const title = "cpu: Python programs that compute"
	err := writeMatrix(w, title, results, metric{"by their own clock", (*row).own})
	if err == nil {
		err = writeMatrix(w, title, results, metric{"start and end included", (*row).wall})
	}
	if err == nil {
		err = writeWrong(w, results)
	}
	if err == nil {
		err = writeFailures(w, results)
	}
	return err
}
