// Log files of any content are read without a crash and in bounded time: the reader of lines, the
// checker of chains, checkpoints, keys and proofs. What passes as canonical is read back the same.
#include <cstdint>
#include <string>
#include <string_view>

#include "audit/chain_checker.h"
#include "audit/checkpoint.h"
#include "audit/export.h"
#include "audit/prove.h"
#include "audit/record_line.h"
#include "base/parse.h"
#include "check.h"

using namespace sallyport;

namespace {

const SigningKey& key() {
  static const SigningKey made = SigningKey::make().value();
  return made;
}

void read_lines(std::string_view bytes) {
  ChainChecker checker;
  Checkpoint checkpoint{.stream = "t", .size = 2, .time = "now"};
  checker.expect(checkpoint);
  std::uint64_t number = 0;
  while (!bytes.empty()) {
    const std::string_view line = take(bytes, '\n');
    if (const auto view = read_record(line)) {
      FUZZ_CHECK(!view->record.empty() && !view->prev.empty());
      // What the scan finds is what a parser of JSON finds, where it is JSON.
      if (const auto value = parse_json(line); value && value->is_object()) {
        const json::value* seq = value->get_object().if_contains("seq");
        FUZZ_CHECK(seq == nullptr || !seq->is_int64() ||
                   static_cast<std::uint64_t>(seq->get_int64()) == view->seq);
      }
    }
    (void)export_record(ExportFormat::csv, "t", line);
    (void)export_record(ExportFormat::ocsf, "t", line);
    if (!checker.feed(line, "f", ++number)) break;
  }
  checker.finish("f", number);
  FUZZ_CHECK(checker.bad().has_value());  // nothing has the root of zeros
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  read_lines(bytes);

  if (const auto checkpoint = Checkpoint::parse(bytes)) FUZZ_CHECK(checkpoint->text() == bytes);
  FUZZ_CHECK(!Checkpoint::open_note(bytes, &key().verifying()));
  std::string_view rest = bytes;
  while (!take_note(rest).empty()) {
  }
  const NotePlace place = last_note(bytes);
  FUZZ_CHECK(place.begin <= place.end && place.end <= size);
  if (const auto parsed = VerifyingKey::parse(bytes)) FUZZ_CHECK(bytes.starts_with(parsed->text()));
  (void)SigningKey::parse(bytes);
  FUZZ_CHECK(!check_proof(bytes, key().verifying()));
  FUZZ_CHECK(csv_cell(bytes).find_first_of("=+-@") != 0);
  return 0;
}
