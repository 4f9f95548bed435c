package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/google/renameio/v2/maybe"
	"github.com/spf13/cobra"
	"go.uber.org/zap"
)

func newLock(cfg *Config) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "lock [flags] FILE",
		Short: "Write the packages that a program uses into the program",
		Long: "Write the packages that a program uses, as they are today, into the program;\n" +
			"\"run --locked\" then takes nothing else. The program is not run.\n\n" +
			"Python: name, version, source and SHA-256 of every package go into the program's\n" +
			"script block (PEP 723), as lock of [tool.coderunner]. Of what the program\n" +
			"installs by micropip.install, that are the requirements that stand in its text:\n" +
			"name others in dependencies.\n\n" +
			"JavaScript and TypeScript: the versions go into the npm: and jsr: specifiers of\n" +
			"the program's imports, and Deno's lock file, which also has the packages that\n" +
			"those need, with their digests, into comments at the program's end.",
		Args: needFile,
		RunE: func(cmd *cobra.Command, args []string) error { return lockFile(cmd.Context(), *cfg, o, args[0]) },
	}
	addLanguage(cmd, &o.language)
	addFiles(cmd, &o)
	cmd.Flags().StringArrayVarP(&o.packages, "package", "p", nil, "a `REQUIREMENT` that the program does not name itself; may be repeated")
	return cmd
}

func lockFile(ctx context.Context, cfg Config, o runOptions, file string) error {
	if file == "-" {
		return errors.New("lock: give a file, which is changed")
	}
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	req, cells, err := newRequest(ctx, cfg, o, file, nil)
	if err != nil {
		return err
	}
	defer req.Project.Close()
	if cells != nil {
		return errors.New("lock: a notebook cannot be locked; save its code as a program")
	}
	b, err := cfg.open(req.Language, newLogger(zap.WarnLevel))
	if err != nil {
		return err
	}
	done := showProgress(&req)
	locked, err := b.Runners[req.Language].Lock(ctx, req)
	done()
	if err = errors.Join(err, b.Close()); err != nil {
		return fmt.Errorf("lock %s: %w", file, err)
	}
	if locked.Text != req.Code {
		mode := info.Mode().Perm()
		if err := errors.Join(maybe.WriteFile(file, []byte(locked.Text), mode), os.Chmod(file, mode)); err != nil {
			return fmt.Errorf("lock %s: %w", file, err)
		}
	}
	fmt.Fprintf(os.Stderr, "%s: packages locked: %d\n", file, len(locked.Packages))
	return nil
}
