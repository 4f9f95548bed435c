package main

import (
	"bufio"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"coderunner/internal/clients"
	"coderunner/internal/fetch"
)

func newConfig() *cobra.Command {
	var write, yes bool
	var file, address string
	cmd := &cobra.Command{
		Use:   "config CLIENT",
		Short: "Print the entry for an MCP client, or write it to its configuration",
		Long: "Print the entry for the configuration file of an MCP client, with the path of this\n" +
			"binary and the settings given as flags, or with the URL of a server over HTTP, whose\n" +
			"token the client takes from " + clients.TokenVariable + ". With --npx, --uvx or --docker it\n" +
			"starts this version from a package. --write adds the entry to the file, or changes\n" +
			"the command of the one that is there, after showing the difference.\n\n" +
			"Clients: " + strings.Join(clients.Names(), ", ") + ".",
		Example:   "  coderunner config cursor --write\n  coderunner config vscode --timeout 2m --file .vscode/mcp.json --write\n  coderunner config claude-code --http http://127.0.0.1:8000/mcp",
		ValidArgs: clients.Names(),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("name one client: %s", strings.Join(clients.Names(), ", "))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := clients.Find(args[0])
			if err != nil {
				return err
			}
			binary, err := os.Executable()
			if err == nil {
				binary, err = filepath.EvalSymlinks(binary)
			}
			if err == nil && file == "" {
				file, err = c.File()
			}
			if err != nil {
				return fmt.Errorf("config %s: %w", c.Name, err)
			}
			to, err := entryFor(cmd.Flags(), binary, address)
			if err == nil {
				to, err = launchBy(cmd, to)
			}
			if err != nil {
				return err
			}
			if write {
				return writeEntry(c, file, to, yes)
			}
			entry, err := c.Entry(to)
			if err != nil {
				return err
			}
			fmt.Print(entry)
			fmt.Fprintf(os.Stderr, "hint: this belongs into %s; --write puts it there\n", file)
			return nil
		},
	}
	cmd.Flags().BoolVar(&write, "write", false, "write the entry to the client's configuration file")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "write it without asking")
	cmd.Flags().StringVar(&address, "http", "", "URL of a server over HTTP instead of a command")
	cmd.Flags().StringVar(&file, "file", "", "another configuration file than the user's")
	addLaunchers(cmd)
	return cmd
}

// entryFor returns what an entry leads to: a server at a URL, or this binary.
func entryFor(flags *pflag.FlagSet, binary, address string) (clients.Server, error) {
	to := clients.Server{Command: binary, Args: serveArgs(flags)}
	if address == "" {
		return to, nil
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http" {
		return to, fmt.Errorf("--http: %q is not a URL such as http://127.0.0.1:8000/mcp", fetch.WithoutUser(address))
	}
	if len(to.Args) > 1 {
		return to, errors.New("--http: the settings are those of the server that is there; leave the other flags out")
	}
	return clients.Server{URL: address}, nil
}

// serveArgs returns the arguments of a server with the settings that flags changed.
func serveArgs(flags *pflag.FlagSet) []string {
	args := []string{"serve"}
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Changed && slices.ContainsFunc(settings, func(s setting) bool { return s.flag == f.Name }) {
			args = append(args, "--"+f.Name+"="+f.Value.String())
		}
	})
	return args
}

// writeEntry shows what would change and writes it, if the user agrees.
func writeEntry(c *clients.Client, file string, to clients.Server, yes bool) error {
	change, err := c.Change(file, to)
	if err != nil {
		return err
	}
	diff := change.Diff()
	if diff == nil {
		fmt.Printf("%s has the entry already\n", change.Path)
		return nil
	}
	os.Stdout.Write(diff)
	if !yes {
		if !term.IsTerminal(int(os.Stdin.Fd())) {
			return errors.New("nothing is written: there is no terminal to ask on; --yes writes it")
		}
		fmt.Fprintf(os.Stderr, "Write %s? [y/N] ", change.Path)
		answer, _ := bufio.NewReader(os.Stdin).ReadString('\n')
		if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
			return errors.New("nothing is written")
		}
	}
	if err := change.Write(); err != nil {
		return err
	}
	fmt.Printf("%s is written; restart %s to use it\n", change.Path, c.Name)
	return nil
}
