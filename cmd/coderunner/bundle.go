package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
)

// bundleName is the directory beside the binary that is used as a bundle.
const bundleName = "coderunner-bundle"

// platformFile is the file of a bundle that names the system it is for: what is compiled
// fits no other.
const platformFile = "PLATFORM"

const platform = runtime.GOOS + "/" + runtime.GOARCH

func newBundle(cfg *Config) *cobra.Command {
	return &cobra.Command{
		Use:   "bundle DIR [PACKAGE]...",
		Short: "Make a directory with the runtimes and packages, for machines without a network",
		Long: "Make a directory with the runtimes and packages, prepared for this system. Another\n" +
			"machine finds it in CODE_RUNNER_BUNDLE, or as " + bundleName + " beside the binary, and\n" +
			"writes nothing to it. A bundle that is there gets what it lacks.",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("name the directory to make")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := filepath.Abs(args[0])
			if err != nil {
				return err
			}
			if list, err := os.ReadDir(dir); err == nil && len(list) > 0 {
				if err := checkBundle(dir); err != nil {
					return err
				}
			}
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(dir, platformFile), []byte(platform+"\n"), 0o644); err != nil {
				return err
			}
			to := *cfg
			to.CacheDir, to.CacheSize, to.Portable = dir, 0, true
			if err := warm(cmd.Context(), to, args[1:]); err != nil {
				return err
			}
			return readable(dir)
		},
	}
}

// readable lets other users read the directory.
func readable(dir string) error {
	return filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSymlink != 0 {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		mode := info.Mode().Perm() | 0o444
		if info.IsDir() || mode&0o100 != 0 {
			mode |= 0o111
		}
		return os.Chmod(name, mode)
	})
}

// checkBundle returns an error if a directory is not a bundle for this system.
func checkBundle(dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, platformFile))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is not a bundle; coderunner bundle makes one in a new directory", dir)
	}
	if made := strings.TrimSpace(string(text)); err == nil && made != platform {
		return fmt.Errorf("the bundle %s was made for %s, and this is %s", dir, made, platform)
	}
	return err
}

// setBundle takes a bundle that the user names.
func setBundle(c *Config, v string) error {
	c.Bundle = v
	return checkBundle(v)
}

// bundleBeside returns the bundle beside this binary, "" if there is none for this system.
func bundleBeside() string {
	binary, err := os.Executable()
	if err != nil {
		return ""
	}
	if _, err := os.Lstat(filepath.Join(filepath.Dir(binary), bundleName)); err != nil {
		if binary, err = filepath.EvalSymlinks(binary); err != nil {
			return ""
		}
	}
	dir := filepath.Join(filepath.Dir(binary), bundleName)
	if checkBundle(dir) != nil {
		return ""
	}
	return dir
}
