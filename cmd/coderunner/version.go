package main

import (
	"fmt"
	"maps"
	"runtime/debug"
	"slices"

	"github.com/spf13/cobra"
	"go.uber.org/zap"
)

func newVersion(cfg *Config) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the versions of coderunner and of the runtimes",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, err := cfg.open("", newLogger(zap.WarnLevel))
			if err != nil {
				return err
			}
			fmt.Println("coderunner", ownVersion())
			all := b.Versions()
			for _, name := range slices.Sorted(maps.Keys(all)) {
				fmt.Println(name, all[name])
			}
			return b.Close()
		},
	}
}

// ownVersion is the module's version, or the commit of a build from a clone.
func ownVersion() string {
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
