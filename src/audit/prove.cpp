#include "audit/prove.h"

#include <fcntl.h>

#include "audit/record_line.h"
#include "audit/stream_files.h"
#include "audit/stream_state.h"
#include "base/private_file.h"
#include "base/text.h"

namespace sallyport {
namespace {

constexpr std::size_t kLongestPath = 64;

std::unexpected<Error> no_proof(const std::string& why) {
  return fail(Reason::argument, "this proves nothing: " + why);
}

// The whole note of the last checkpoint.
Result<std::string> last_note_of(int stream) {
  const auto file = open_private_file(stream, "checkpoints", O_RDONLY);
  if (!file) return std::unexpected(file.error());
  if (!file->valid()) return std::string();
  const auto size = size_of(file->get());
  if (!size) return std::unexpected(size.error());
  std::string tail(std::min<std::uint64_t>(*size, 2 * kLongestNote), '\0');
  const ssize_t got =
      ::pread(file->get(), tail.data(), tail.size(), static_cast<off_t>(*size - tail.size()));
  if (got < 0) return fail(Reason::unavailable, SysError{"read", "checkpoints", errno});
  tail.resize(static_cast<std::size_t>(got));
  const NotePlace place = last_note(tail);
  return place.end == 0 ? std::string() : tail.substr(place.begin, place.end - place.begin - 1);
}

// Every line up to `size`, in order.
template <class Take>
Result<void> read_log(int stream, std::uint64_t size, Take take) {
  std::uint64_t seen = 0;
  for (unsigned number = 1; seen < size; ++number) {
    const std::string name = segment_name(number);
    const auto file = open_private_file(stream, name.c_str(), O_RDONLY);
    if (!file) return std::unexpected(file.error());
    if (!file->valid())
      return fail(Reason::unavailable, "the log has fewer records than its checkpoint",
                  "`sallyport audit verify` says more");
    const auto bytes = size_of(file->get());
    if (!bytes) return std::unexpected(bytes.error());
    LineReader reader(file->get(), 0, *bytes);
    std::string_view line;
    while (seen < size && reader.next(line) == LineReader::Step::line)
      take(seen++, line);
  }
  return {};
}

}  // namespace

Result<json::object> prove_record(int state_directory, const std::string& stream,
                                  std::uint64_t seq) {
  if (!is_stream_name(stream))
    return fail(Reason::argument, quoted(stream) + " is no name of a stream");
  const auto audit = open_directory(state_directory, "audit", false);
  if (!audit) return std::unexpected(audit.error());
  const auto directory =
      audit->valid() ? open_directory(audit->get(), stream, false) : Result<Fd>(Fd());
  if (!directory) return std::unexpected(directory.error());
  if (!directory->valid()) return fail(Reason::argument, "there is no stream " + quoted(stream));
  const auto note = last_note_of(directory->get());
  if (!note) return std::unexpected(note.error());
  const auto checkpoint = Checkpoint::open_note(*note, nullptr);
  if (!checkpoint || checkpoint->size <= seq)
    return fail(Reason::argument,
                "no checkpoint covers record " + std::to_string(seq) + " of " + quoted(stream),
                "wait for the next one, or make one: `sallyport audit checkpoint`");

  InclusionProver prover(seq, checkpoint->size);
  std::string record;
  auto done = read_log(directory->get(), checkpoint->size,
                       [&](std::uint64_t number, std::string_view line) {
                         if (number == seq) record = line;
                         prover.append(leaf_hash(line));
                       });
  if (!done) return std::unexpected(std::move(done.error()));
  const std::vector<Hash> path = prover.path();
  if (!proves_inclusion(leaf_hash(record), seq, checkpoint->size, path, checkpoint->root))
    return fail(Reason::unavailable, "the log is not the one that was signed",
                "`sallyport audit verify` names the record");
  json::array hashes;
  for (const Hash& hash : path)
    hashes.emplace_back(to_hex(hash));
  return json::object{{"record", record},
                      {"seq", seq},
                      {"size", checkpoint->size},
                      {"path", std::move(hashes)},
                      {"checkpoint", *note}};
}

Result<ProvenRecord> check_proof(std::string_view proof, const VerifyingKey& key) try {
  const auto value = parse_json(proof);
  if (!value) return no_proof(value.error().message);
  const json::object& object = value->as_object();
  auto checkpoint = Checkpoint::open_note(object.at("checkpoint").as_string(), &key);
  if (!checkpoint) return no_proof(checkpoint.error().message);
  const std::string_view line = object.at("record").as_string();
  const auto seq = json::value_to<std::uint64_t>(object.at("seq"));
  std::vector<Hash> path;
  for (const json::value& text : object.at("path").as_array()) {
    const auto hash = hash_from_hex(text.as_string());
    if (!hash || path.size() >= kLongestPath) return no_proof("the path is no list of hashes");
    path.push_back(*hash);
  }
  if (json::value_to<std::uint64_t>(object.at("size")) != checkpoint->size)
    return no_proof("its size is not that of the checkpoint");
  if (!proves_inclusion(leaf_hash(line), seq, checkpoint->size, path, checkpoint->root))
    return no_proof("the path does not lead from the record to the root of the checkpoint");
  auto record = parse_json(line, {.max_depth = 256});
  if (!record || !record->is_object()) return no_proof("the record is no JSON object");
  return ProvenRecord{std::move(record->get_object()), std::move(*checkpoint)};
} catch (const std::exception&) {
  return no_proof("a field is missing, or of another kind");
}

}  // namespace sallyport
