package deno

import (
	_ "embed"
	"net/url"
)

//go:embed sqlite3.js
var sqlite3Source string

// sqlite3Module is the address of the module that stands for sqlite3's machine code.
var sqlite3Module = "data:text/javascript," + url.PathEscape(sqlite3Source)

// sqlite3 returns it for a program that has the package, else "".
func (j *job) sqlite3() string {
	if j.ready.has("sqlite3") {
		return sqlite3Module
	}
	return ""
}
