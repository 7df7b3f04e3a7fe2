// Whatever strangers send to a service: it costs little, and others are answered meanwhile.
#include <gtest/gtest.h>

#include "support/live_service.h"

namespace sallyport::test {
namespace {

// Each connection sends some bytes of chance, behind what may be the beginning of something, and
// reads until it is closed or has nothing more to hear. Says how many were answered with 200.
constexpr const char* kStrangers = R"(
import os, random, socket, sys, threading
random.seed(9)
beginnings = (b'', b'GET / HTTP/1.1\r\n', b'POST /v1/tools/hello/call HTTP/1.1\r\nHost: localhost\r\n',
              b'POST /execute HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n',
              b'POST /execute HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000\r\n\r\n',
              b'GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ', b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
              b'\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03')
sizes = [random.randrange(1, 20000) for _ in range(400)]
good = []
def one(number):
    with socket.create_connection(('127.0.0.1', int(sys.argv[1]))) as link:
        link.settimeout(60)
        heard = b''
        try:
            link.sendall(beginnings[number % len(beginnings)] + os.urandom(sizes[number]))
            link.shutdown(socket.SHUT_WR)
            while data := link.recv(65536): heard += data
        except ConnectionError: pass
        if heard.startswith(b'HTTP/1.1 200'): good.append(number)
def several(first):
    for number in range(first, len(sizes), 8): one(number)
threads = [threading.Thread(target=several, args=(first,)) for first in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(good))
)";

class ServeGarbage : public CellTest {};
SALLYPORT_FOR_ROOT_AND_USER(ServeGarbage);

TEST_P(ServeGarbage, CostsLittleAndLeavesOthersAnswered) {
  LiveService service(R"(
version: 1
roles: { worker: [go] }
callers: { will: { role: worker } }
defaults: { rate: 10000/min }
tools:
  hello: { run: [echo, hello], needs: [go] }
)",
                      GetParam());
  const std::string key = service.key("will");
  ASSERT_EQ(service.call("hello", "{}", key).text("output"), "hello\n");
  const pid_t front = service.named("sally-front");
  ASSERT_GT(front, 0);
  const long before = std::atol(status_of(front, "VmHWM").c_str());

  Ran strangers;
  std::atomic<bool> done = false;
  std::thread sending([&] {
    strangers =
        run({"python3", "-c", kStrangers, std::to_string(service.port())}, {.as = GetParam()});
    done = true;
  });
  int answered = 0;
  do {
    const Reply reply = service.call("hello", "{}", key);
    EXPECT_EQ(reply.text("output"), "hello\n") << reply.body;
    ++answered;
  } while (!done && !HasFailure());
  sending.join();
  EXPECT_EQ(strangers.out, "0\n") << strangers.err;
  EXPECT_GT(answered, 0);
  EXPECT_EQ(service.named("sally-front"), front);
  constexpr long kMostKib = 64L << 10;
  EXPECT_LT(std::atol(status_of(front, "VmHWM").c_str()), before + kMostKib);
  EXPECT_EQ(service.command({"audit", "verify"}).exit_code, 0);
  EXPECT_EQ(service.end(), 0);
}

}  // namespace
}  // namespace sallyport::test
