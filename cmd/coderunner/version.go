package main

import (
	"fmt"
	"maps"
	"runtime/debug"
	"slices"

	"coderunner/internal/backend"

	"github.com/spf13/cobra"
	"go.uber.org/zap"
)

func newVersion(cfg *Config) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the versions of coderunner and of the runtimes",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg.Log = newLogger(zap.WarnLevel)
			all, err := backend.Versions(cfg.Config)
			if err != nil {
				return err
			}
			fmt.Println("coderunner", ownVersion()+released())
			for _, name := range slices.Sorted(maps.Keys(all)) {
				fmt.Println(name, all[name])
			}
			return nil
		},
	}
}

// What the linker sets in the binaries of a release (cmd/release): its version and day,
// and the names of its packages, by which a client's entry can start it.
var version, date, npmPackage, pypiPackage, image string

// released returns the day of a release.
func released() string {
	if date == "" {
		return ""
	}
	return " (" + date + ")"
}

// ownVersion is the release's version, or the module's, or the commit of a build from a
// clone.
func ownVersion() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return "devel " + s.Value[:12]
		}
	}
	return "devel"
}
