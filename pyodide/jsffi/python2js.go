package jsffi

import "coderunner/pyodide/hostfn"

// python2jsRows gives the conversions between Python and JavaScript.
func python2jsRows() hostfn.Table {
	var t hostfn.Table
	t = append(t, failing("python2js.c", errorRef,
		"_JsArray_PostProcess_helper ee:e",
		"_python2js_ascii ii:e",
		"_python2js_ucs1 ii:e",
		"_python2js_ucs2 ii:e",
		"_python2js_ucs4 ii:e",
		"python2js__default_converter_js ei:e",
		"python2js__eager_converter_js ei:e",
		"python2js_custom__create_jscontext ieeee:e",
	)...)
	t = append(t, failing("python2js_buffer.c", errorRef,
		"_python2js_buffer_inner iiiiiii:e",
	)...)
	t = append(t, failing("python2js.c", minusOne,
		"_JsArray_PushEntry_helper eee:i",
		"_JsObject_Set_js eee:i",
		"_python2js_add_to_cache eie:i",
	)...)
	t = append(t, failing("python2js.c", 0,
		"_python2js_addto_postprocess_list eeei:",
		"_python2js_handle_postprocess_list ee:",
	)...)
	t = append(t, answering("python2js.c", errorRef, "the cache is empty",
		"_python2js_cache_lookup ei:e",
	)...)
	t = append(t, answering("python2js.c", 0, "there is no proxy",
		"destroy_proxies_js e:i",
	)...)
	t = append(t, failing("js2python.c", 0,
		"js2python_convert eie:i",
		"js2python_immutable_js e:i",
		"js2python_js e:i",
	)...)
	return t
}
