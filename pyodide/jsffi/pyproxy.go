package jsffi

import "coderunner/pyodide/hostfn"

// pyproxyRows returns the functions behind PyProxy, the JavaScript object that
// stands for a Python one.
func pyproxyRows() hostfn.Table {
	var t hostfn.Table
	t = append(t, failing("pyproxy.c", errorRef,
		"create_once_callable ii:e obj may_syncify",
		"create_promise_handles iiei:e handle_result handle_exception done_callback js2py_converter",
		"pyproxy_new i:e ptrobj",
		"pyproxy_new_ex iiiii:e ptrobj capture_this roundtrip gcRegister jsonAdaptor",
		"_pyproxyGen_make_result ie:e done value",
		"_pyproxy_get_buffer_result iiiiiieeiiii:e start_ptr smallest_ptr largest_ptr readonly format itemsize shape strides view c_contiguous f_contiguous sentinel",
		"array_to_js ii:e array len",
	)...)
	t = append(t, answering("pyproxy.c", errorRef, "the cache is empty",
		"proxy_cache_get ei:e proxyCache descr",
	)...)
	t = append(t, answering("pyproxy.c", 0, "there is no proxy",
		"proxy_cache_set eie: proxyCache descr proxy",
		"destroy_proxies ei: proxies msg_ptr",
		"destroy_proxy ei: px msg_ptr",
		"gc_register_proxies e: proxies",
	)...)
	t = append(t, answering("pyproxy.c", 0, "no value is a proxy",
		"pyproxy_Check e:i val",
		"pyproxy_AsPyObject e:i val",
	)...)
	t = append(t, throwing("pyproxy.c", "throw_no_gil :")...)
	return t
}
