// One egress process under load: a thousand connections at a time from fifty cells, beside a host
// that does not read and a cell that does not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "support/live_service.h"

namespace sallyport::test {
namespace {

constexpr int kCells = 50, kOfOneCell = 20;
// Three times what it takes. A piece of 64 KiB for each way of each connection would not fit.
constexpr long kMostMemory = 48L << 10;  // KiB

// Three servers. The first answers nobody before all have come; the second reads nothing, and the
// third sends for ever.
constexpr const char* kServers = R"(
import asyncio, sys
everybody, *ports = map(int, sys.argv[1:])
async def main():
    all_here, here = asyncio.Event(), 0
    async def meet(reader, writer):
        nonlocal here
        await reader.readline()
        here += 1
        if here == everybody: all_here.set()
        await all_here.wait()
        writer.write(b'met\n')
        writer.close()
    async def stall(reader, writer):
        print('stalled', flush=True)
        await asyncio.sleep(3600)
    async def flood(reader, writer):
        print('flooded', flush=True)
        try:
            while True:
                writer.write(b'x' * 65536)
                await writer.drain()
        except OSError: pass
    for server, port in zip((meet, stall, flood), ports):
        # What nobody reads stays with the kernel.
        await asyncio.start_server(server, '127.0.0.1', port, limit=4096, backlog=1024)
    print('ready', flush=True)
    await asyncio.Event().wait()
asyncio.run(main())
)";

class EgressLoad : public CellTest {
 protected:
  EgressLoad()
      : servers_({"python3", "-c", kServers, std::to_string(kCells * kOfOneCell + 1),
                  std::to_string(ports_[0]), std::to_string(ports_[1]),
                  std::to_string(ports_[2])}) {
    EXPECT_TRUE(servers_.says("ready"));
  }

  [[nodiscard]] std::string policy() const {
    const auto rule = [](int port) {
      return "{ host: web.example, port: " + std::to_string(port) +
             ", scheme: tcp, internal: true, address: 127.0.0.1 }";
    };
    return R"(
version: 1
roles: { worker: [execute:code] }
tenants: { one: {}, other: {} }
callers: { will: { role: worker, tenant: one }, anna: { role: worker, tenant: other } }
defaults: { rate: 100000/min, screen: none, limits: { timeout: 55s } }
tools:
  python:
    use: run_python
    needs: [execute:code]
    network:
      allow: [)" +
           rule(ports_[0]) + ", " + rule(ports_[1]) + ", " + rule(ports_[2]) + R"(]
      requests: 100
      connections: 32
)";
  }

  // Python as the argument of a call.
  static std::string code(const std::string& text) {
    return boost::json::serialize(boost::json::object{{"code", text}});
  }
  [[nodiscard]] std::string place(int server) const {
    return "('web.example', " + std::to_string(ports_[server]) + ")";
  }

  const int ports_[3] = {free_port(), free_port(), free_port()};
  LiveProcess servers_;
};

std::size_t descriptors_of(pid_t pid) {
  const auto all = std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

TEST_P(EgressLoad, AThousandConnectionsOfFiftyCellsAreAllAnswered) {
  LiveService service(policy(), GetParam());
  const std::string keys[] = {service.key("will"), service.key("anna")};
  ASSERT_EQ(service.call("python", code("print('up')"), keys[0]).text("output"), "up\n");
  const pid_t egress = service.named("sally-egress");
  ASSERT_GT(egress, 0);
  const std::size_t idle = descriptors_of(egress);

  // It fills the way to a host that does not read, does not read what another one sends, and is
  // there until all have been answered.
  Reply greedy;
  std::thread first([&] {
    greedy = service.call("python",
                          code("import socket\n"
                               "stalled = socket.create_connection(" +
                               place(1) +
                               ")\n"
                               "flooded = socket.create_connection(" +
                               place(2) +
                               ")\n"
                               "stalled.settimeout(1)\n"
                               "try:\n"
                               "  while True: stalled.sendall(b'x' * 100000)\n"
                               "except TimeoutError: print('full')\n"
                               "last = socket.create_connection(" +
                               place(0) +
                               ")\n"
                               "last.sendall(b'here\\n')\n"
                               "print(last.recv(4))\n"),
                          keys[0]);
  });
  EXPECT_TRUE(servers_.says("stalled"));
  EXPECT_TRUE(servers_.says("flooded"));

  std::vector<std::string> said(kCells);
  std::vector<std::thread> cells;
  for (int i = 0; i < kCells; ++i)
    cells.emplace_back([&, i] {
      const Reply reply =
          service.call("python",
                       code("import socket\n"
                            "all = [socket.create_connection(" +
                            place(0) + ") for _ in range(" + std::to_string(kOfOneCell) +
                            ")]\n"
                            "for one in all: one.sendall(b'here\\n')\n"
                            "print(sum(one.recv(4) == b'met\\n' for one in all))\n"),
                       keys[i % 2]);
      said[i] = reply.text("output");
    });
  for (std::thread& cell : cells)
    cell.join();
  first.join();
  EXPECT_THAT(said, testing::Each(std::to_string(kOfOneCell) + "\n"));
  EXPECT_EQ(greedy.text("output"), "full\nb'met\\n'\n") << greedy.body;
  EXPECT_EQ(service.named("sally-egress"), egress);
  EXPECT_LT(std::atol(status_of(egress, "VmHWM").c_str()), kMostMemory);

  // A namespace lives as long as a socket of it: none is left.
  EXPECT_TRUE(eventually([&] { return descriptors_of(egress) == idle; })) << descriptors_of(egress);
  EXPECT_EQ(service.end(), 0);
}

SALLYPORT_FOR_ROOT_AND_USER(EgressLoad);

}  // namespace
}  // namespace sallyport::test
