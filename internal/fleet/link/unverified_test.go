package link

import (
	"net/url"
	"testing"
)

// TestUnverified: the warning appears for each form of URL that turns the check of certificates off, and for no other.
func TestUnverified(t *testing.T) {
	for address, want := range map[string]bool{
		"redis://h:1": false, "rediss://h:1": false, "rediss://h:1?skip_verify=true": true,
		"rediss://h:1?addr=h:2":      false, // of a cluster the library takes no skip_verify
		"rediss://h:1?master_name=m": false, "rediss://h:1?master_name=m&skip_verify=true": true,
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		client, err := open(u, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := UnverifiedWarning(client) != ""; got != want {
			t.Errorf("%s: %v", address, got)
		}
		_ = client.Close()
	}
}
