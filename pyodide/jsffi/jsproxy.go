package jsffi

import "coderunner/pyodide/hostfn"

// jsproxyRows returns the functions behind JsProxy, the Python object that stands
// for a JavaScript one.
func jsproxyRows() hostfn.Table {
	var t hostfn.Table
	t = append(t, failing("jsproxy.c", errorRef,
		"JsArray_repeat_js ei:e o count",
		"JsBuffer_DecodeString_js ei:e buffer encoding",
		"JsException_new_helper iii:e name_ptr message_ptr stack_ptr",
		"JsMap_GetIter_js e:e obj",
		"JsModule_GetAll_js e:e o",
		"JsObjMap_GetIter_js e:e obj",
		"JsObjMap_subscript_js ee:e obj key",
		"JsProxy_Dir_js e:e jsobj",
		"JsProxy_GetAsyncIter_js e:e obj",
		"JsProxy_GetAttr_js ei:e jsobj ptrkey",
		"JsProxy_GetIter_js e:e obj",
		"JsProxy_aexit_js e:e obj",
		"JsProxy_subscript_js ee:e obj key",
		"JsProxy_to_weakref_js e:e pyproxy",
		"JsArray_reversed_iterator e:e array",
	)...)
	t = append(t, failing("jsproxy.c", minusOne,
		"JsArray_count_js ee:i o v",
		"JsArray_index_js eeii:i o v start stop",
		"JsArray_inplace_repeat_js ei:i o count",
		"JsArray_reverse_js e:i array",
		"JsMap_clear_js e:i map",
		"JsObjMap_ass_subscript_js eee:i obj key value",
		"JsObjMap_contains_js ee:i obj key",
		"JsObjMap_length_js e:i obj",
		"JsProxy_DelAttr_js ei:i jsobj ptrkey",
		"JsProxy_SetAttr_js eie:i jsobj ptrkey jsval",
		"JsProxy_compute_typeflags ei:i obj is_py_json",
		"JsProxy_exit_js e:i obj",
		"_agen_handle_result_js eiiii:i p msg set_result set_exception closing",
		"get_length_helper e:i val",
	)...)
	t = append(t, failing("jsproxy.c", 0,
		"JsDoubleProxy_unwrap_js e:i id",
		"get_length_string e:i val",
		"JsBuffer_get_info eiiii: jsobj byteLength_ptr format_ptr size_ptr checked_ptr",
	)...)
	t = append(t, answering("jsproxy.c", 0, "false: there is no such value",
		"JsProxy_Bool_js e:i val",
		"is_comlink_proxy e:i obj",
	)...)
	t = append(t, answering("jsproxy.c", 0, "no: nothing can be suspended",
		"can_run_sync_js :i",
	)...)
	t = append(t, answering("jsproxy.c", 0, "there is nothing to destroy",
		"destroy_jsarray_entries e: array",
	)...)
	t = append(t, does("jsproxy.c", "handle_next_result_js eii:e res done msg", hostfn.Absent, "raises", handleNextResult)...)
	t = append(t, failing("jsbind.c", errorRef,
		"get_async_js_call_done_callback e:e proxies",
		"wrap_async_generator ee:e gen proxies",
		"wrap_generator ee:e gen proxies",
		"my_dict_converter :e",
	)...)
	return t
}
