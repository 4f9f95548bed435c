// Package options holds the options of set and shopt.
package options

import (
	"slices"
	"strings"

	"coderunner/internal/order"
)

// Set are those of set and shopt.
type Set struct {
	Allexport, Errexit, Errtrace, Functrace, Hashall, Monitor, Noclobber, Noexec, Noglob, Nounset, Pipefail, Posix,
	Verbose, Xtrace, Nobrace, Histexpand, Notify, Onecmd, Physical, Privileged, Ignoreeof, InteractiveComments, Emacs, Vi, History, Keyword, Nolog bool

	Dotglob, ExpandAliases, Extglob, Failglob, Globstar, Globskipdots, InheritErrexit, Lastpipe, Nocaseglob, Nocasematch, Nullglob,
	Sourcepath, XpgEcho, Patsub, Checkwinsize, Cmdhist, AssocExpandOnce, LocalvarInherit bool
}

// Defaults are the options of a new shell.
var Defaults = Set{Hashall: true, InteractiveComments: true, Globskipdots: true, Sourcepath: true, Patsub: true, Checkwinsize: true, Cmdhist: true}

// Option is an option of set, with its letter.
type Option struct {
	Name   string
	Letter byte
	At     func(*Set) *bool
}

// OfSet are the options of set, in the order in which it shows them.
var OfSet = []Option{
	{"allexport", 'a', func(o *Set) *bool { return &o.Allexport }},
	{"braceexpand", 'B', func(o *Set) *bool { return &o.Nobrace }}, // the opposite: see option
	{"emacs", 0, func(o *Set) *bool { return &o.Emacs }},
	{"errexit", 'e', func(o *Set) *bool { return &o.Errexit }},
	{"errtrace", 'E', func(o *Set) *bool { return &o.Errtrace }},
	{"functrace", 'T', func(o *Set) *bool { return &o.Functrace }},
	{"hashall", 'h', func(o *Set) *bool { return &o.Hashall }},
	{"histexpand", 'H', func(o *Set) *bool { return &o.Histexpand }},
	{"history", 0, func(o *Set) *bool { return &o.History }},
	{"ignoreeof", 0, func(o *Set) *bool { return &o.Ignoreeof }},
	{"interactive-comments", 0, func(o *Set) *bool { return &o.InteractiveComments }},
	{"keyword", 'k', func(o *Set) *bool { return &o.Keyword }},
	{"monitor", 'm', func(o *Set) *bool { return &o.Monitor }},
	{"noclobber", 'C', func(o *Set) *bool { return &o.Noclobber }},
	{"noexec", 'n', func(o *Set) *bool { return &o.Noexec }},
	{"noglob", 'f', func(o *Set) *bool { return &o.Noglob }},
	{"nolog", 0, func(o *Set) *bool { return &o.Nolog }},
	{"notify", 'b', func(o *Set) *bool { return &o.Notify }},
	{"nounset", 'u', func(o *Set) *bool { return &o.Nounset }},
	{"onecmd", 't', func(o *Set) *bool { return &o.Onecmd }},
	{"physical", 'P', func(o *Set) *bool { return &o.Physical }},
	{"pipefail", 0, func(o *Set) *bool { return &o.Pipefail }},
	{"posix", 0, func(o *Set) *bool { return &o.Posix }},
	{"privileged", 'p', func(o *Set) *bool { return &o.Privileged }},
	{"verbose", 'v', func(o *Set) *bool { return &o.Verbose }},
	{"vi", 0, func(o *Set) *bool { return &o.Vi }},
	{"xtrace", 'x', func(o *Set) *bool { return &o.Xtrace }},
}

// OfShopt are the options of shopt.
var OfShopt = []Option{
	{"assoc_expand_once", 0, func(o *Set) *bool { return &o.AssocExpandOnce }},
	{"checkwinsize", 0, func(o *Set) *bool { return &o.Checkwinsize }},
	{"cmdhist", 0, func(o *Set) *bool { return &o.Cmdhist }},
	{"dotglob", 0, func(o *Set) *bool { return &o.Dotglob }},
	{"expand_aliases", 0, func(o *Set) *bool { return &o.ExpandAliases }},
	{"extglob", 0, func(o *Set) *bool { return &o.Extglob }},
	{"failglob", 0, func(o *Set) *bool { return &o.Failglob }},
	{"globskipdots", 0, func(o *Set) *bool { return &o.Globskipdots }},
	{"globstar", 0, func(o *Set) *bool { return &o.Globstar }},
	{"inherit_errexit", 0, func(o *Set) *bool { return &o.InheritErrexit }},
	{"lastpipe", 0, func(o *Set) *bool { return &o.Lastpipe }},
	{"localvar_inherit", 0, func(o *Set) *bool { return &o.LocalvarInherit }},
	{"nocaseglob", 0, func(o *Set) *bool { return &o.Nocaseglob }},
	{"nocasematch", 0, func(o *Set) *bool { return &o.Nocasematch }},
	{"nullglob", 0, func(o *Set) *bool { return &o.Nullglob }},
	{"patsub_replacement", 0, func(o *Set) *bool { return &o.Patsub }},
	{"sourcepath", 0, func(o *Set) *bool { return &o.Sourcepath }},
	{"xpg_echo", 0, func(o *Set) *bool { return &o.XpgEcho }},
}

// Find returns where an option of set is kept, nil without one.
func (o *Set) Find(name string) *bool {
	for _, x := range OfSet {
		if x.Name == name {
			return x.At(o)
		}
	}
	return nil
}

// Opposite reports whether an option is kept as its opposite.
func Opposite(name string) bool { return name == "braceexpand" }

// On returns the names of the options of set that are on.
func (o *Set) On() (names []string) {
	for _, x := range OfSet {
		if *x.At(o) != Opposite(x.Name) {
			names = append(names, x.Name)
		}
	}
	return names
}

// ShoptOn returns those of shopt.
func (o *Set) ShoptOn() (names []string) {
	for _, x := range OfShopt {
		if *x.At(o) {
			names = append(names, x.Name)
		}
	}
	return names
}

// Letters is $-.
func (o *Set) Letters() string {
	var s []byte
	for _, x := range OfSet {
		if x.Letter != 0 && *x.At(o) != Opposite(x.Name) {
			s = append(s, x.Letter)
		}
	}
	order.By(s, func(a, b byte) int { return int(a^0x20) - int(b^0x20) }) // lower case first
	return string(s)
}

// Ignored reports whether an option is one of bash's that mean nothing here.
func Ignored(name string) bool {
	return slices.Contains(strings.Fields("array_expand_once autocd cdable_vars cdspell checkhash checkjobs compat31 compat32 compat40 "+
		"compat41 compat42 compat43 compat44 complete_fullquote direxpand dirspell execfail extdebug extquote force_fignore "+
		"globasciiranges gnu_errfmt histappend histreedit histverify hostcomplete huponexit interactive_comments lithist "+
		"localvar_unset login_shell mailwarn no_empty_cmd_completion noexpand_translation nocaseglob progcomp "+
		"progcomp_alias promptvars restricted_shell shift_verbose syslog_history varredir_close"), name)
}
