package jsffi

import "testing"

func TestRowsAreComplete(t *testing.T) {
	if err := Rows().Check(); err != nil {
		t.Error(err)
	}
}
