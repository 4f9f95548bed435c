package netstack

import (
	"iter"
	"strconv"
	"strings"
)

// services are the well-known ports that programs ask for by name, with udp
// where that is registered, too (IANA's registry).
const services = `
	echo 7 udp, discard 9 udp, daytime 13 udp, chargen 19 udp, ftp-data 20, ftp 21, ssh 22, telnet 23, smtp 25,
	time 37 udp, domain 53 udp, bootps 67 udp, bootpc 68 udp, tftp 69 udp, gopher 70, finger 79, http 80,
	kerberos 88 udp, pop3 110, sunrpc 111 udp, auth 113, nntp 119, ntp 123 udp, imap2 143, snmp 161 udp,
	irc 194 udp, ldap 389 udp, https 443 udp, submissions 465, syslog 514 udp, submission 587, ldaps 636 udp,
	rsync 873, ftps 990, telnets 992, imaps 993, pop3s 995, socks 1080, mysql 3306, postgresql 5432, amqp 5672,
	redis 6379, http-alt 8080`

// servicesOf returns the names and ports of the services of a protocol: tcp, udp or "" for
// either.
func servicesOf(protocol string) iter.Seq2[string, uint16] {
	return func(yield func(string, uint16) bool) {
		for entry := range strings.SplitSeq(services, ",") {
			fields := strings.Fields(entry)
			has := protocol == "" || protocol == "tcp" || protocol == "udp" && len(fields) > 2
			if n, _ := strconv.ParseUint(fields[1], 10, 16); has && !yield(fields[0], uint16(n)) {
				return
			}
		}
	}
}

// ServicePort is the port of a service by its name, 0 if it has none; protocol
// is tcp, udp or "" for either.
func ServicePort(name, protocol string) uint16 {
	for s, n := range servicesOf(protocol) {
		if s == name {
			return n
		}
	}
	return 0
}

// ServiceName is the name of the service at a port, "" if it has none.
func ServiceName(port uint16, protocol string) string {
	for s, n := range servicesOf(protocol) {
		if n == port {
			return s
		}
	}
	return ""
}
