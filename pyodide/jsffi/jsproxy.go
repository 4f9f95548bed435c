package jsffi

import "coderunner/pyodide/hostfn"

// jsproxyRows gives the functions behind JsProxy, the Python object that stands
// for a JavaScript one.
func jsproxyRows() hostfn.Table {
	var t hostfn.Table
	t = append(t, failing("jsproxy.c", errorRef,
		"JsArray_repeat_js ei:e",
		"JsBuffer_DecodeString_js ei:e",
		"JsException_new_helper iii:e",
		"JsMap_GetIter_js e:e",
		"JsModule_GetAll_js e:e",
		"JsObjMap_GetIter_js e:e",
		"JsObjMap_subscript_js ee:e",
		"JsProxy_Dir_js e:e",
		"JsProxy_GetAsyncIter_js e:e",
		"JsProxy_GetAttr_js ei:e",
		"JsProxy_GetIter_js e:e",
		"JsProxy_aexit_js e:e",
		"JsProxy_subscript_js ee:e",
		"JsProxy_to_weakref_js e:e",
		"JsArray_reversed_iterator e:e",
	)...)
	t = append(t, failing("jsproxy.c", minusOne,
		"JsArray_count_js ee:i",
		"JsArray_index_js eeii:i",
		"JsArray_inplace_repeat_js ei:i",
		"JsArray_reverse_js e:i",
		"JsMap_clear_js e:i",
		"JsObjMap_ass_subscript_js eee:i",
		"JsObjMap_contains_js ee:i",
		"JsObjMap_length_js e:i",
		"JsProxy_DelAttr_js ei:i",
		"JsProxy_SetAttr_js eie:i",
		"JsProxy_compute_typeflags ei:i",
		"JsProxy_exit_js e:i",
		"_agen_handle_result_js eiiii:i",
		"get_length_helper e:i",
	)...)
	t = append(t, failing("jsproxy.c", 0,
		"JsDoubleProxy_unwrap_js e:i",
		"get_length_string e:i",
		"JsBuffer_get_info eiiii:",
	)...)
	t = append(t, answering("jsproxy.c", 0, "false: there is no such value",
		"JsProxy_Bool_js e:i",
		"is_comlink_proxy e:i",
	)...)
	t = append(t, answering("jsproxy.c", 0, "no: nothing can be suspended",
		"can_run_sync_js :i",
	)...)
	t = append(t, answering("jsproxy.c", 0, "there is nothing to destroy",
		"destroy_jsarray_entries e:",
	)...)
	t = append(t, does("jsproxy.c", "handle_next_result_js eii:e", hostfn.Absent, "raises", handleNextResult)...)
	t = append(t, failing("jsbind.c", errorRef,
		"get_async_js_call_done_callback e:e",
		"wrap_async_generator ee:e",
		"wrap_generator ee:e",
		"my_dict_converter :e",
	)...)
	return t
}
