// Program is for package prelink's tests: it needs pointers in its data, of functions,
// strings, types and tables, and prints where one of its functions is.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
)

var table = map[string]func(...any) string{"sprint": fmt.Sprint, "sprintln": fmt.Sprintln}

var named = []struct {
	Name  string
	Value any
}{{"a", 1}, {"b", []string{"x", "y"}}, {"c", &os.PathError{Op: "open"}}}

func main() {
	text, err := json.Marshal(named)
	fmt.Println(string(text), err, table["sprint"](len(table), reflect.TypeOf(named[2].Value)))
	fmt.Printf("%#x\n", reflect.ValueOf(main).Pointer())
}
