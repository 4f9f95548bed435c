package clock

import (
	"testing"
	"time"
)

func TestZone(t *testing.T) {
	t.Setenv("ZONEINFO", "/etc") // is the host's, and of no interest
	at := time.Unix(1_700_000_000, 0)
	for tz, want := range map[string]string{
		"": "22:13 UTC", "Europe/Rome": "23:13 CET", ":Asia/Kolkata": "03:43 IST", "America/New_York": "17:13 EST",
		"EST5": "17:13 EST", "<+03>-3": "01:13 +03", "UTC-2": "00:13 UTC", "Local": "22:13 UTC", "Nowhere/Land": "22:13 UTC", "Europe": "22:13 UTC",
		"../../../../etc/localtime": "22:13 UTC", "/etc/localtime": "22:13 UTC", ":/usr/share/zoneinfo/Europe/Rome": "22:13 UTC",
		"localtime": "22:13 UTC", "hostname": "22:13 UTC", "Europe/../Europe/Rome": "22:13 UTC", "EST99999999999": "22:13 UTC",
	} {
		if got := Format("%R %Z", at.In(Zone(tz))); got != want {
			t.Errorf("TZ=%s: %s, want %s", tz, got, want)
		}
	}
}
