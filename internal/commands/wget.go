package commands

import (
	"net/url"
	"path"
	"slices"
	"strconv"
)

const wgetOptions = "q,quiet O,output-document= P,directory-prefix= header= post-data= post-file= !S,server-response T,timeout= t,tries= no-check-certificate n v,verbose nv,no-verbose !i,input-file= U,user-agent= method= body-data= spider !c,continue !N,timestamping user= password= max-redirect= !no-clobber show-progress progress= !content-disposition !r,recursive !m,mirror !p,page-requisites"

// wgetSet returns the options of curl that those of wget are.
func wgetSet(o *options) []option {
	set := []option{{"L", ""}, {"f", ""}, {"s", ""}, {"S", ""}, {"A", o.value("U", "Wget/1.21")}}
	for _, s := range o.set {
		switch s.name {
		case "header":
			set = append(set, option{"H", s.value})
		case "post-data", "body-data":
			set = append(set, option{"data-raw", s.value})
		case "post-file":
			set = append(set, option{"data-binary", "@" + s.value})
		case "method":
			set = append(set, option{"X", s.value})
		case "no-check-certificate":
			set = append(set, option{"k", ""})
		case "user":
			set = append(set, option{"u", s.value + ":" + o.value("password", "")})
		case "max-redirect":
			set = append(set, option{"max-redirs", s.value})
		case "T":
			set = append(set, option{"connect-timeout", s.value})
		case "t":
			if n, ok := atoi(s.value); ok {
				set = append(set, option{"retry", strconv.Itoa(n - 1)})
			}
		case "spider":
			set = append(set, option{"I", ""}, option{"o", "/dev/null"})
		}
	}
	return set
}

// wget downloads files by the same means as curl.
func wget(c *call) int {
	o, status := c.options(wgetOptions)
	if o == nil {
		return status
	}
	if len(o.args) == 0 {
		c.warnf("wget: missing URL\nUsage: wget [OPTION]... [URL]...\n\nTry `wget --help' for more options.\n")
		return 1
	}
	set := wgetSet(o)
	for _, target := range o.args {
		name := o.value("O", "")
		if name == "" {
			u, err := url.Parse(target)
			if name = "index.html"; err == nil && path.Base(u.Path) != "." && path.Base(u.Path) != "/" {
				name = path.Base(u.Path)
			}
			name = joinPath(o.value("P", ""), name)
			c.fs.MkdirAll(c.canonical(dir(name), false), 0o755)
		}
		r := &curlRun{c: c, o: &options{set: append(slices.Clip(set), option{"o", name})}}
		if err := r.data(); err != nil {
			return c.die(3, "%s", text(err))
		}
		switch s := r.get(target, 0); {
		case s == 0:
			if !o.on("q") && name != "-" {
				c.warnf("'%s' saved\n", name)
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
