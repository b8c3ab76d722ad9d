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

// TestReachingAddresses: only addresses of the endpoint's family count.
func TestReachingAddresses(t *testing.T) {
	for _, c := range []struct {
		host   string
		locals []string
		want   int
		says   string
	}{
		{"10.0.0.1:80", nil, 0, ""},
		{"10.0.0.1:80", []string{"10.0.0.2", "::1", "10.0.0.3"}, 2, ""},
		{"[2001:db8::1]:80", []string{"10.0.0.2", "::1", "10.0.0.3"}, 1, ""},
		{"[::ffff:10.0.0.1]:80", []string{"10.0.0.2", "::1"}, 1, ""},
		{"localhost:80", []string{"127.0.0.1"}, 1, ""},
		{"nobody.invalid:80", []string{"127.0.0.1", "::1"}, 2, ""}, // connecting will fail later
		{"10.0.0.1:80", []string{"::1"}, 0, "--laddr: 10.0.0.1 has only IPv4 addresses; give an IPv4 address of this machine too"},
		{"[::2]:80", []string{"10.0.0.1"}, 0, "--laddr: ::2 has only IPv6 addresses; give an IPv6 address of this machine too"},
	} {
		n, err := Reaching(c.locals, c.host)
		if n != c.want || (err == nil) != (c.says == "") || err != nil && err.Error() != c.says {
			t.Errorf("%s from %v: %d, %v", c.host, c.locals, n, err)
		}
	}
}
