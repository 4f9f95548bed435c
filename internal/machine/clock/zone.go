// Package clock is the machine's calendar: time zones, and the times and durations
// that date(1), touch(1) and sleep(1) read and print.
//
// # Sources
//
// zoneinfo.zip.gz is the database of time zones (public domain) as Go ships it,
// lib/time/zoneinfo.zip. [time.LoadLocation] would look into the host's directories
// and where the host's ZONEINFO points, by names that programs choose.
package clock

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"sync"
	"time"
)

//go:embed zoneinfo.zip.gz
var packed []byte

// database is unpacked by the first who names a zone.
var database = sync.OnceValues(func() (fs.FS, error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(z)
	if err != nil {
		return nil, err
	}
	return zip.NewReader(bytes.NewReader(b), int64(len(b)))
})

// load returns a time zone by its name in the database, such as Europe/Rome.
func load(name string) (*time.Location, error) {
	files, err := database()
	if err != nil {
		return nil, fmt.Errorf("read the database of time zones: %w", err)
	}
	b, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, fmt.Errorf("time zone %q: %w", name, err)
	}
	return time.LoadLocationFromTZData(name, b)
}

// Zone returns the time zone that a value of TZ stands for: UTC if it is empty or
// unknown.
func Zone(tz string) *time.Location {
	tz = strings.TrimPrefix(tz, ":")
	if tz == "" || tz == "UTC" {
		return time.UTC
	}
	if zone := posixZone(tz); zone != nil {
		return zone
	}
	if zone, err := load(tz); err == nil {
		return zone
	}
	return time.UTC
}

// posixZone reads a zone without rules, such as "EST5", "UTC-2" or "<+03>-3".
func posixZone(tz string) *time.Location {
	end := strings.IndexAny(tz, "+-0123456789")
	name := ""
	if strings.HasPrefix(tz, "<") {
		if end = strings.IndexByte(tz, '>') + 1; end > 0 {
			name = tz[1 : end-1]
		}
	} else if end >= 3 {
		name = tz[:end]
	}
	if name == "" {
		return nil
	}
	hours, minutes, _ := strings.Cut(tz[end:], ":")
	h, err := strconv.Atoi(hours)
	if err != nil || h < -24 || h > 24 {
		return nil
	}
	m, _ := strconv.Atoi(minutes)
	if strings.HasPrefix(hours, "-") {
		m = -m
	}
	return time.FixedZone(name, -(h*60+m)*60)
}
