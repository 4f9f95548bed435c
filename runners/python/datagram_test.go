package python

import (
	"fmt"
	"net"
	"testing"

	"coderunner/runners"
)

// TestDatagramServers: where the policy has it, programs of the host reach servers of
// UDP, which answer from the port that they bound.
func TestDatagramServers(t *testing.T) {
	var ports []string
	var hosts []net.PacketConn
	for _, ip := range []string{"127.0.0.1", "127.0.0.2"} {
		c, err := net.ListenPacket("udp4", ip+":0")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		hosts = append(hosts, c)
		_, port, _ := net.SplitHostPort(c.LocalAddr().String())
		ports = append(ports, port)
	}
	// The first of the host's clients answers with what it got and from which port. Then
	// the second writes, whom the policy lacks.
	go func() {
		b := make([]byte, 100)
		for {
			n, from, err := hosts[0].ReadFrom(b)
			if err != nil {
				return
			}
			hosts[0].WriteTo(fmt.Appendf(nil, "%s %d", b[:n], from.(*net.UDPAddr).Port), from)
			hosts[1].WriteTo([]byte("me, too"), from)
		}
	}()
	r := newIndex(t).newRunner(base{}, false, t.TempDir())
	r.cfg.Policy.Net = runners.Grant{List: []string{"127.0.0.1"}}
	o := run(t, r, `import asyncio, socket
host = ("127.0.0.1", `+ports[0]+`)
def attempt(f, *args):
    try:
        return f(*args)
    except OSError as e:
        return e.strerror
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("127.0.0.1", 0))
s.settimeout(30)
s.sendto(b"bound", host)
data, peer = s.recvfrom(100)
print(data == f"bound {s.getsockname()[1]}".encode(), peer == host)
data, peer = s.recvfrom(100)
print(data, attempt(s.sendto, b"answer", peer))
print(attempt(s.sendto, b"x", ("239.1.1.1", 5000)))
print(attempt(s.setsockopt, socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, bytes([239, 1, 1, 1, 0, 0, 0, 0])))
s.connect(host)
s.send(b"connected")
print(s.recv(9), s.getpeername() == host)
class Answers(asyncio.DatagramProtocol):
    def datagram_received(self, data, peer):
        got.done() or got.set_result((data, peer == host))
async def main():
    global got
    got = asyncio.get_running_loop().create_future()
    transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(Answers, local_addr=("127.0.0.1", 0))
    transport.sendto(b"asyncio", host)
    print((await asyncio.wait_for(got, 30))[1], (await got)[0] == f"asyncio {transport.get_extra_info('sockname')[1]}".encode())
    transport.close()
asyncio.run(main())`)
	const groups = "multicast and broadcast are not part of this network: send to each receiver's address\n"
	stranger := "127.0.0.2:" + ports[1]
	refusal := "b'me, too' network access to " + stranger + " refused: it is an address of this machine or a private network, and such must be named (--allow-net=" + stranger + " on the server)\n"
	if want := "True True\n" + refusal + groups + groups + "b'connected' True\nTrue True\n"; o.Stdout != want {
		t.Errorf("stdout %q, stderr %q, want %q", o.Stdout, o.Stderr, want)
	}
	for _, c := range o.Usage.Contacted {
		if fmt.Sprint(c.Port) == ports[0] && c.Sent != int64(len("bound"+"connected"+"asyncio")) {
			t.Errorf("contacted: %+v", c)
		}
	}
}
