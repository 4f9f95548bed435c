package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// machine is what figures depend on.
type machine struct {
	CPU    string   `json:"cpu"`
	Cores  int      `json:"cores"`
	System string   `json:"system"`
	Go     string   `json:"go"`
	Load   float64  `json:"load"` // average of the last minute, before measuring; -1 when not known
	Ours   []string `json:"ours"` // versions
	Peers  []string `json:"peers"`
}

func thisMachine() machine {
	return machine{
		CPU:    cpuModel(),
		Cores:  runtime.NumCPU(),
		System: runtime.GOOS + "/" + runtime.GOARCH,
		Go:     runtime.Version(),
		Load:   loadAverage(),
	}
}

func (m machine) String() string {
	load := ""
	if m.Load >= 0 {
		load = fmt.Sprintf(", load %.1f", m.Load)
	}
	return fmt.Sprintf("%s, %d cores, %s, %s%s", m.CPU, m.Cores, m.System, m.Go, load)
}

// busy reports whether others were computing before we began, so that times
// say little and ratios not much more.
func (m machine) busy() bool { return m.Load > 0.5*float64(m.Cores) }

// cpuModel is read where Linux has it. Elsewhere the architecture must do.
func cpuModel() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	return modelName(string(info))
}

func modelName(cpuinfo string) string {
	for line := range strings.Lines(cpuinfo) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

func loadAverage() float64 {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return -1
	}
	first, _, _ := strings.Cut(string(data), " ")
	load, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return -1
	}
	return load
}
