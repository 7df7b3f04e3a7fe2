// Ten thousand copies of one image: none of them may draw what another has drawn.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>

#include "cell/late.h"
#include "warm/child_fixture.h"
#include "warm/take_image.h"

namespace sallyport::test {
namespace {

constexpr int kCopies = 10'000;
constexpr unsigned kWorkers = 4;

// What a script may take for its own. All of it is imported in the image: what a copy imports for
// itself begins anew anyway. `state` is what nobody reseeds: the twin, which shows that copies are
// copies.
constexpr const char* kDraw = R"(
import random, secrets, ssl, tempfile, uuid, os, sys
draws = dict(random=repr(random.random()), bits=random.getrandbits(64), own=random.Random().random(),
             urandom=os.urandom(8).hex(), secrets=secrets.token_hex(8), ssl=ssl.RAND_bytes(8).hex(),
             uuid4=uuid.uuid4(), uuid1=uuid.uuid1(), temporary=next(tempfile._get_candidate_names()),
             state=hash('state'))
if 'numpy.random' in sys.modules:
    numpy = sys.modules['numpy']
    draws.update(numpy=numpy.random.random(), generator=numpy.random.default_rng().random())
draws['pid'] = os.getpid()
print(''.join('%s %s\n' % row for row in draws.items()), end='')
)";

// As in cells, they all have the same number.
std::string draw(int image, int program) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return {};
  const Fd output(ends[0]);
  Fd theirs(ends[1]);
  Child copy({"restore"},
             {.image = image, .program = program, .first = true, .output = theirs.get()});
  theirs.reset();
  copy.say("c");
  if (copy.hear() != "R") return {};
  copy.say(encode_order(std::vector<std::string>{"-c", kDraw}, {}));
  std::string text;
  char buffer[4096];
  for (ssize_t size = 0; (size = ::read(output.get(), buffer, sizeof(buffer))) > 0;)
    text.append(buffer, static_cast<std::size_t>(size));
  return text;
}

TEST(WarmCopies, DrawNothingThatAnotherHasDrawn) {
  std::vector<std::string> command = {
      "/lib64/ld-linux-x86-64.so.2", "--argv0", "python3", "/usr/bin/python3", "-B", "-c",
      std::string(python_program())};
  for (const char* module : {"random", "secrets", "ssl", "tempfile", "uuid"})
    command.emplace_back(module);
  const std::vector<std::string> environment = {"PATH=/usr/bin", "OPENBLAS_NUM_THREADS=1",
                                                "OMP_NUM_THREADS=1"};
  const bool has_numpy = std::system("/usr/bin/python3 -c 'import numpy' 2>/dev/null") == 0;
  if (has_numpy) command.emplace_back("numpy.random");
  Child original(command, {.environment = environment, .first = true});
  ASSERT_EQ(original.hear(), "T");
  const auto image = take_image(original.pid(), "copy", ByteSize{1U << 30});
  ASSERT_TRUE(image) << image.error().message;
  const Fd program = program_file();

  std::mutex mutex;
  std::map<std::string, std::set<std::string>> drawn;  // by what it was drawn from
  std::atomic<int> left = kCopies;
  int failed = 0;
  {
    std::vector<std::jthread> workers;
    for (unsigned i = 0; i < kWorkers; ++i)
      workers.emplace_back([&] {
        while (left.fetch_sub(1) > 0) {
          const std::string text = draw(image->get(), program.get());
          const std::scoped_lock lock(mutex);
          if (text.empty()) ++failed;
          std::istringstream lines(text);
          for (std::string name, value; lines >> name >> value;)
            drawn[name].insert(value);
        }
      });
  }
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(drawn.size(), has_numpy ? 13U : 11U);
  for (const auto& [name, values] : drawn)
    if (name == "state" || name == "pid")
      EXPECT_EQ(values.size(), 1U) << name << ": the twin";
    else
      EXPECT_EQ(values.size(), static_cast<std::size_t>(kCopies)) << name;
}

}  // namespace
}  // namespace sallyport::test
