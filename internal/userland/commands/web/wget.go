package web

import (
	"net/url"
	"path"
	"slices"
	"strconv"

	"coderunner/internal/userland/commands/command"
)

const wgetOptions = "q,quiet O,output-document= P,directory-prefix= header= post-data= post-file= !S,server-response T,timeout= t,tries= no-check-certificate n v,verbose nv,no-verbose !i,input-file= U,user-agent= method= body-data= spider !c,continue !N,timestamping user= password= max-redirect= !no-clobber show-progress progress= !content-disposition !r,recursive !m,mirror !p,page-requisites"

// wgetNames are options of wget by those of curl that do the same.
var wgetNames = map[string]string{
	"header": "H", "post-data": "data-raw", "body-data": "data-raw", "method": "X", "no-check-certificate": "k", "max-redirect": "max-redirs", "T": "connect-timeout",
}

// wgetSet returns the options of curl that those of wget are.
func wgetSet(o *command.Options) []command.Option {
	set := []command.Option{{Name: "L"}, {Name: "f"}, {Name: "s"}, {Name: "S"}, {Name: "A", Value: o.Value("U", "Wget/1.21")}}
	for _, s := range o.Set {
		if name := wgetNames[s.Name]; name != "" {
			set = append(set, command.Option{Name: name, Value: s.Value})
		}
		switch s.Name {
		case "post-file":
			set = append(set, command.Option{Name: "data-binary", Value: "@" + s.Value})
		case "user":
			set = append(set, command.Option{Name: "u", Value: s.Value + ":" + o.Value("password", "")})
		case "t":
			if n, ok := command.Atoi(s.Value); ok {
				set = append(set, command.Option{Name: "retry", Value: strconv.Itoa(n - 1)})
			}
		case "spider":
			set = append(set, command.Option{Name: "I"}, command.Option{Name: "o", Value: "/dev/null"})
		}
	}
	return set
}

// Wget downloads files by the same means as curl.
func Wget(c *command.Call) int {
	o := c.Parse(wgetOptions)
	if len(o.Args) == 0 {
		c.Warnf("wget: missing URL\nUsage: wget [OPTION]... [URL]...\n\nTry `wget --help' for more options.\n")
		return 1
	}
	set, status := wgetSet(o), 0
	for _, target := range o.Args {
		name := o.Value("O", "")
		if name == "" {
			u, err := url.Parse(target)
			if name = "index.html"; err == nil && path.Base(u.Path) != "." && path.Base(u.Path) != "/" {
				name = path.Base(u.Path)
			}
			name = command.JoinPath(o.Value("P", ""), name)
			c.MkdirAll(c.Canonical(command.Dir(name), false))
		}
		r := &curlRun{c: c, o: &command.Options{Set: append(slices.Clip(set), command.Option{Name: "o", Value: name})}}
		if err := c.Catch(r.data); err != nil {
			return c.Die(3, "%s", command.Text(err))
		}
		switch s := r.get(target, 0); {
		case s == 0:
			if !o.On("q") && name != "-" {
				c.Warnf("'%s' saved\n", name)
			}
		case s == 22:
			status = 8
		case s == 60:
			status = 5
		default:
			status = max(status, 4)
		}
	}
	return status
}
