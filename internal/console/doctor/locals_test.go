package doctor

import "testing"

func TestLocals(t *testing.T) {
	for _, good := range [][]string{nil, {"127.0.0.1"}, {"127.0.0.2", "127.0.0.3"}} {
		if err := Locals(good); err != nil {
			t.Errorf("%v: %v", good, err)
		}
	}
	// This address is reserved for documentation.
	err := Locals([]string{"127.0.0.1", "192.0.2.1"})
	if want := "connect from 192.0.2.1: cannot assign requested address; give an address of this machine"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
