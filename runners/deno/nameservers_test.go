package deno

import (
	"testing"

	"coderunner/runners"
	"coderunner/runners/deno/guard"
	"coderunner/runners/deno/process"
)

// A program with a network of its own is not allowed the name servers of the system's.
func TestNoNameServers(t *testing.T) {
	r := open(t, "", nil)
	servers := guard.NameServers()
	if len(servers) == 0 || !process.Supervised(runners.Policy{Net: runners.Grant{All: true}}) {
		t.Skip("no program asks name servers here")
	}
	o := run(t, r, runners.Request{Code: `(await Deno.permissions.query({ name: "net", host: "` + servers[0].String() + `:53" })).state`})
	if o.Result == nil || o.Result.Text == "granted" {
		t.Errorf("%+v, %+v", o.Result, o.Error)
	}
}
