#include "audit/checkpoint.h"

#include "base/base64.h"
#include "base/parse.h"

namespace sallyport {
namespace {

constexpr std::string_view kOrigin = "sallyport-audit/";
constexpr std::string_view kSignature = "\n\n\xE2\x80\x94 ";  // in front of a signature
constexpr std::string_view kEnd = "\n\n";

std::unexpected<Error> refuse() {
  return fail(Reason::argument, "this is not a checkpoint of an audit log");
}

// The line, if it begins so, without its beginning.
std::optional<std::string_view> behind(std::string_view line, std::string_view word) {
  if (!line.starts_with(word)) return std::nullopt;
  return line.substr(word.size());
}

}  // namespace

std::string Checkpoint::text() const {
  const std::string_view bytes(reinterpret_cast<const char*>(root.data()), root.size());
  return std::string(kOrigin) + stream + "\n" + std::to_string(size) + "\n" + to_base64(bytes) +
         "\ntime " + time + "\nopen " + std::to_string(open) + "\nprevious " + to_hex(previous) +
         "\n";
}

Result<std::string> Checkpoint::sign(const SigningKey& key) const {
  const std::string body = text();
  auto signature = key.sign(body);
  if (!signature) return signature;
  return body + "\n" + *signature;
}

Result<Checkpoint> Checkpoint::parse(std::string_view text) {
  std::string_view rest = text;
  Checkpoint checkpoint;
  const auto stream = behind(take(rest, '\n'), kOrigin);
  const auto size = whole_number<std::uint64_t>(take(rest, '\n'));
  const auto root = from_base64(take(rest, '\n'));
  const auto time = behind(take(rest, '\n'), "time ");
  const auto open = behind(take(rest, '\n'), "open ");
  const auto previous = behind(take(rest, '\n'), "previous ");
  if (!stream || !size || !root || root->size() != sizeof(Hash) || !time || !open || !previous)
    return refuse();
  const auto open_count = whole_number<std::uint64_t>(*open);
  const auto previous_hash = hash_from_hex(*previous);
  if (!open_count || !previous_hash) return refuse();
  checkpoint.stream = *stream;
  checkpoint.size = *size;
  std::copy(root->begin(), root->end(), checkpoint.root.begin());
  checkpoint.time = *time;
  checkpoint.open = *open_count;
  checkpoint.previous = *previous_hash;
  if (checkpoint.text() != text) return refuse();
  return checkpoint;
}

Result<Checkpoint> Checkpoint::open_note(std::string_view note, const VerifyingKey* key) {
  const std::size_t blank = note.find(kSignature);
  if (blank == std::string_view::npos) return refuse();
  const std::string_view text = note.substr(0, blank + 1), signature = note.substr(blank + 2);
  // One line behind the blank one, which is the signature of our key and nothing else.
  if (signature.find('\n') != signature.size() - 1) return refuse();
  auto checkpoint = parse(text);
  if (!checkpoint) return checkpoint;
  if (key != nullptr && !key->verifies(text, signature))
    return fail(Reason::argument, "the signature is not one of this key");
  return checkpoint;
}

std::string_view take_note(std::string_view& rest) {
  const std::size_t blank = rest.substr(0, kLongestNote).find(kSignature);
  if (blank == std::string_view::npos) return {};
  const std::size_t end = rest.substr(0, blank + kLongestNote).find(kEnd, blank + kEnd.size());
  if (end == std::string_view::npos) return {};
  const std::string_view note = rest.substr(0, end + 1);
  rest.remove_prefix(end + kEnd.size());
  return note;
}

NotePlace last_note(std::string_view tail) {
  for (std::size_t from = tail.size(); true;) {
    const std::size_t blank = tail.rfind(kSignature, from);
    if (blank == std::string_view::npos) return {};
    const std::size_t end = tail.find(kEnd, blank + kEnd.size());
    if (end != std::string_view::npos) {
      // It begins behind the note before it, or with the file.
      const std::size_t before = blank == 0 ? blank : tail.rfind(kEnd, blank - 1);
      return {before == std::string_view::npos ? 0 : before + kEnd.size(), end + kEnd.size()};
    }
    if (blank == 0) return {};
    from = blank - 1;
  }
}

Hash note_hash(std::string_view note) {
  return sha256(note);
}

}  // namespace sallyport
