package jsffi

import "coderunner/pyodide/hostfn"

// python2jsRows returns the conversions between Python and JavaScript.
func python2jsRows() hostfn.Table {
	var t hostfn.Table
	t = append(t, failing("python2js.c", errorRef,
		"_JsArray_PostProcess_helper ee:e jscontext array",
		"_python2js_ascii ii:e ptr len",
		"_python2js_ucs1 ii:e ptr len",
		"_python2js_ucs2 ii:e ptr len",
		"_python2js_ucs4 ii:e ptr len",
		"python2js__default_converter_js ei:e jscontext object",
		"python2js__eager_converter_js ei:e jscontext object",
		"python2js_custom__create_jscontext ieeee:e context cache dict_converter default_converter eager_converter",
	)...)
	t = append(t, failing("python2js_buffer.c", errorRef,
		"_python2js_buffer_inner iiiiiii:e buf itemsize ndim format shape strides suboffsets",
	)...)
	t = append(t, failing("python2js.c", minusOne,
		"_JsArray_PushEntry_helper eee:i array key value",
		"_JsObject_Set_js eee:i obj key value",
		"_python2js_add_to_cache eie:i cache pyparent jsparent",
	)...)
	t = append(t, failing("python2js.c", 0,
		"_python2js_addto_postprocess_list eeei: list parent key value",
		"_python2js_handle_postprocess_list ee: list cache",
	)...)
	t = append(t, answering("python2js.c", errorRef, "the cache is empty",
		"_python2js_cache_lookup ei:e cache pyparent",
	)...)
	t = append(t, answering("python2js.c", 0, "there is no proxy",
		"destroy_proxies_js e:i proxies_id",
	)...)
	t = append(t, failing("js2python.c", 0,
		"js2python_convert eie:i v depth defaultConverter",
		"js2python_immutable_js e:i value",
		"js2python_js e:i value",
	)...)
	return t
}
