// Any command line is read or refused with a sentence; what is read keeps the promises of the
// header.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "check.h"
#include "door/cli/options.h"

using namespace sallyport;

// The words stand one to a line.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  std::vector<const char*> words;
  if (!text.empty()) words.push_back(text.data());
  for (char& c : text) {
    if (c != '\n') continue;
    c = '\0';
    words.push_back(&c + 1);
  }

  const auto request = parse_run(words);
  if (!request) {
    const Error& error = request.error();
    FUZZ_CHECK(error.reason == Reason::argument);
    FUZZ_CHECK(!error.message.empty() && !error.hint.empty());
    FUZZ_CHECK(escape_for_terminal(error.message) == error.message);
    FUZZ_CHECK(escape_for_terminal(error.hint) == error.hint);
    return 0;
  }
  if (request->help) return 0;
  const CellSpec& spec = request->spec;
  FUZZ_CHECK(!spec.command.empty() && !spec.command[0].empty());
  for (const Grant& grant : spec.grants) {
    FUZZ_CHECK(!grant.host.empty());
    if (grant.inside.empty()) continue;
    FUZZ_CHECK(grant.inside[0] == '/' && !irregular_component(grant.inside));
    FUZZ_CHECK(check_grant_place(grant.inside).has_value());
  }
  for (const InputFile& input : spec.inputs) {
    FUZZ_CHECK(!input.host.empty() && !input.name.starts_with('/'));
    FUZZ_CHECK(!irregular_component(input.name));
  }
  FUZZ_CHECK(spec.cwd.starts_with('/'));
  FUZZ_CHECK(!spec.hostname.empty() && spec.hostname.size() <= 63);
  FUZZ_CHECK(spec.limits.timeout.count() > 0 && spec.limits.cpu.count() > 0);
  FUZZ_CHECK(spec.limits.cpus > 0 && spec.limits.cpus <= 1024);
  FUZZ_CHECK(spec.limits.memory.bytes > 0 && spec.limits.disk.bytes > 0 && spec.limits.inodes > 0);
  FUZZ_CHECK(spec.limits.processes >= 1 && spec.limits.processes <= 32'768);
  FUZZ_CHECK(spec.limits.max_output <= spec.limits.max_output_hard);
  FUZZ_CHECK(!spec.limits.io || spec.limits.io->per_second.bytes > 0);
  return 0;
}
