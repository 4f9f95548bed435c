package jsffi

import "coderunner/pyodide/hostfn"

// pyproxyRows gives the functions behind PyProxy, the JavaScript object that
// stands for a Python one.
func pyproxyRows() hostfn.Table {
	var t hostfn.Table
	t = append(t, failing("pyproxy.c", errorRef,
		"create_once_callable ii:e",
		"create_promise_handles iiei:e",
		"pyproxy_new i:e",
		"pyproxy_new_ex iiiii:e",
		"_pyproxyGen_make_result ie:e",
		"_pyproxy_get_buffer_result iiiiiieeiiii:e",
		"array_to_js ii:e",
	)...)
	t = append(t, answering("pyproxy.c", errorRef, "the cache is empty",
		"proxy_cache_get ei:e",
	)...)
	t = append(t, answering("pyproxy.c", 0, "there is no proxy",
		"proxy_cache_set eie:",
		"destroy_proxies ei:",
		"destroy_proxy ei:",
		"gc_register_proxies e:",
	)...)
	t = append(t, answering("pyproxy.c", 0, "no value is a proxy",
		"pyproxy_Check e:i",
		"pyproxy_AsPyObject e:i",
	)...)
	t = append(t, throwing("pyproxy.c", "throw_no_gil :")...)
	return t
}
