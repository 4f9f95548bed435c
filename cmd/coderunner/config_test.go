package main

import (
	"slices"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

func TestParseSize(t *testing.T) {
	for in, want := range map[string]int64{
		"50000": 50_000, "1B": 1, "64KiB": 64 << 10, "512MiB": 512 << 20, "2GiB": 2 << 30,
		"2G": 2 << 30, "512MB": 512e6, "1 GiB": 1 << 30,
		"": -1, "MiB": -1, "-1": -1, "1.5GiB": -1, "1TiB": -1, "0x10": -1, "512mib": 512 << 20, "2g": 2 << 30, "1iB": -1,
		"9223372036854775807": -1, "9999999999GiB": -1,
	} {
		got, err := parseSize(in)
		if err != nil {
			got = -1
		}
		if got != want {
			t.Errorf("parseSize(%q) = %d, %v; want %d", in, got, err, want)
		}
	}
}

func TestFlagsWinOverTheEnvironment(t *testing.T) {
	t.Setenv("CODE_RUNNER_TIMEOUT", "10s")
	t.Setenv("CODE_RUNNER_MEMORY", "128MiB")
	t.Setenv("CODE_RUNNER_MAX_OUTPUT", "")
	t.Setenv("CODE_RUNNER_OFFLINE", "")
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	addFlags(flags, settings)
	addPermissionFlags(flags)
	if err := flags.Parse([]string{"--timeout", "20s", "--offline", "--deno-permission-args", `--allow-net="a b"`, "--allow-env", "--deny-read=/it's", "-A"}); err != nil {
		t.Fatal(err)
	}
	c, err := readConfig(flags)
	if err != nil {
		t.Fatal(err)
	}
	if c.Limits.Timeout != 20*time.Second || c.Limits.Memory != 128<<20 || c.Limits.Output != 50_000 || !c.Offline {
		t.Errorf("config = %+v", c)
	}
	if want := []string{"--allow-net=a b", "--allow-env", "--deny-read=/it's", "--allow-all"}; !slices.Equal(c.Permissions, want) {
		t.Errorf("permissions = %q", c.Permissions)
	}
}

func TestSplitPackages(t *testing.T) {
	forDeno, forPython := splitPackages([]string{"six", "npm:zod@3", "jsr:@std/csv", "rich>=13"})
	if len(forDeno) != 2 || len(forPython) != 2 || forPython[1] != "rich>=13" {
		t.Errorf("split: %v and %v", forDeno, forPython)
	}
}
