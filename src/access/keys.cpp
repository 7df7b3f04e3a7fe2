#include "access/keys.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/clock.h"
#include "base/json.h"
#include "base/private_file.h"
#include "base/sha256.h"
#include "base/text.h"

namespace sallyport {
namespace {

constexpr const char *kFile = "keys", *kNewFile = "keys.new", *kLock = "keys.lock";
constexpr std::chrono::seconds kPatience{10};
constexpr std::size_t kMostBytes = std::size_t{64} << 20;
// Some file systems (a lower layer of overlayfs) do not tell an open file that it was replaced.
constexpr std::int64_t kByName = 1'000'000;  // ns
constexpr std::string_view kPrefix = "sp_";
constexpr std::size_t kIdSize = 12, kSecretSize = 43;  // 71 and 256 bits

std::unexpected<Error> damaged(const std::string& why) {
  return fail(Reason::unavailable, "the file 'keys' in the state directory is damaged: " + why,
              "put back a good copy, or move it away and make new keys");
}

// Random letters and digits: 62 of 64 values are used, the others are drawn again.
Result<std::string> random_text(std::size_t size) {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  std::string text;
  while (text.size() < size) {
    unsigned char byte = 0;
    if (::getrandom(&byte, 1, 0) != 1)
      return fail(Reason::unavailable, SysError{"getrandom", "key", errno});
    if ((byte & 63U) < kLetters.size()) text.push_back(kLetters[byte & 63U]);
  }
  return text;
}

json::object to_json(const Key& key) {
  json::object object{{"id", key.id},
                      {"caller", key.caller},
                      {"created_us", key.created.count()},
                      {"hash", key.hash}};
  if (key.expires) object["expires_us"] = key.expires->count();
  if (key.scopes) object["scopes"] = json::value_from(*key.scopes);
  return object;
}

Result<Key> from_json(std::string_view line) {
  auto value = parse_json(line);
  if (!value) return damaged(value.error().message);
  const json::object* object = value->if_object();
  Key key;
  const auto text = [&](const char* name, std::string& into) {
    const json::value* field = object != nullptr ? object->if_contains(name) : nullptr;
    if (field == nullptr || !field->is_string()) return false;
    into = field->get_string();
    return true;
  };
  if (!text("id", key.id) || !text("caller", key.caller) || !text("hash", key.hash) ||
      key.hash.size() != 64)
    return damaged("a line is not a key");
  const auto time = [&](const char* name) -> std::optional<Moment> {
    const json::value* field = object->if_contains(name);
    if (field == nullptr || !field->is_int64()) return std::nullopt;
    return Moment(field->get_int64());
  };
  if (const auto created = time("created_us")) key.created = *created;
  key.expires = time("expires_us");
  // An expiry or a scope that cannot be read must not turn into none.
  if (object->contains("expires_us") && !key.expires) return damaged("an expiry is not a time");
  if (const json::value* scopes = object->if_contains("scopes")) {
    key.scopes.emplace();
    if (!scopes->is_array()) return damaged("scopes are not a list");
    for (const json::value& scope : scopes->get_array()) {
      if (!scope.is_string()) return damaged("a scope is not a name");
      key.scopes->emplace_back(scope.get_string());
    }
  }
  return key;
}

Result<std::vector<Key>> parse_keys(std::string_view text) {
  std::vector<Key> keys;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return damaged("its last line is not whole");
    auto key = from_json(text.substr(0, end));
    if (!key) return std::unexpected(key.error());
    keys.push_back(std::move(*key));
    text.remove_prefix(end + 1);
  }
  return keys;
}

Result<std::vector<Key>> read_keys(int file) {
  std::string text;
  char piece[16384];
  for (;;) {
    const ssize_t got = ::read(file, piece, sizeof(piece));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(Reason::unavailable, SysError{"read", kFile, errno});
    if (got == 0) break;
    text.append(piece, static_cast<std::size_t>(got));
    if (text.size() > kMostBytes) return damaged("it is too large");
  }
  return parse_keys(text);
}

Result<void> write_keys(int directory, const std::vector<Key>& keys) {
  std::string text;
  for (const Key& key : keys)
    text.append(json::serialize(to_json(key))).append("\n");
  const auto file = open_private_file(directory, kNewFile, O_WRONLY | O_CREAT | O_TRUNC);
  if (!file) return std::unexpected(file.error());
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t wrote = ::write(file->get(), rest.data(), rest.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return fail(Reason::unavailable, SysError{"write", kNewFile, errno});
    rest.remove_prefix(static_cast<std::size_t>(wrote));
  }
  if (::fsync(file->get()) != 0 || ::renameat(directory, kNewFile, directory, kFile) != 0 ||
      ::fsync(directory) != 0)
    return fail(Reason::unavailable, SysError{"write", kFile, errno});
  return {};
}

// Takes as long for a wrong text as for the right one.
bool same_hash(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned char different = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    different |= static_cast<unsigned char>(a[i] ^ b[i]);
  return different == 0;
}

}  // namespace

Result<std::vector<Key>> list_keys(int directory) {
  const auto file = open_private_file(directory, kFile, O_RDONLY);
  if (!file) return std::unexpected(file.error());
  if (!file->valid()) return std::vector<Key>();
  return read_keys(file->get());
}

Result<std::string> add_key(int directory, Key key) {
  const auto lock = lock_private_file(directory, kLock, O_RDWR | O_CREAT, kPatience);
  if (!lock) return std::unexpected(lock.error());
  auto keys = list_keys(directory);
  if (!keys) return std::unexpected(keys.error());
  auto id = random_text(kIdSize);
  if (!id) return std::unexpected(id.error());
  auto secret = random_text(kSecretSize);
  if (!secret) return std::unexpected(secret.error());
  std::string text = std::string(kPrefix) + *id + "_" + *secret;
  key.id = std::move(*id);
  key.hash = sha256_hex(text);
  keys->push_back(std::move(key));
  if (auto written = write_keys(directory, *keys); !written)
    return std::unexpected(written.error());
  return text;
}

Result<bool> revoke_key(int directory, std::string_view id) {
  const auto lock = lock_private_file(directory, kLock, O_RDWR | O_CREAT, kPatience);
  if (!lock) return std::unexpected(lock.error());
  auto keys = list_keys(directory);
  if (!keys) return std::unexpected(keys.error());
  if (std::erase_if(*keys, [&](const Key& key) { return key.id == id; }) == 0) return false;
  if (auto written = write_keys(directory, *keys); !written)
    return std::unexpected(written.error());
  return true;
}

Result<std::unique_ptr<KeyRing>> KeyRing::open(int directory) {
  Fd own(::fcntl(directory, F_DUPFD_CLOEXEC, 3));
  if (!own) return fail(Reason::unavailable, SysError{"fcntl", "state directory", errno});
  std::unique_ptr<KeyRing> ring(new KeyRing(std::move(own)));
  if (auto keys = ring->look(); !keys) return std::unexpected(keys.error());
  return ring;
}

Result<KnownKeys> KeyRing::look() {
  const std::lock_guard lock(mutex_);
  if (!is_current()) {
    keys_ = nullptr;
    if (auto done = read(); !done) return std::unexpected(std::move(done.error()));
  }
  return KnownKeys(keys_);
}

std::optional<KeyRing::Version> KeyRing::version_of(int file) {
  struct stat status{};
  if (::fstat(file, &status) != 0) return std::nullopt;
  const auto ns = [](const timespec& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; };
  return Version{.links = status.st_nlink,
                 .size = static_cast<std::uint64_t>(status.st_size),
                 .written_ns = ns(status.st_mtim),
                 .changed_ns = ns(status.st_ctim)};
}

// Asked all the time: the open file is looked at, which costs a quarter of looking at its name.
bool KeyRing::is_current() {
  if (keys_ == nullptr || !file_ || version_of(file_.get()) != version_) return false;
  const std::int64_t now = monotonic_ns();
  if (now - found_by_name_ < kByName) return true;
  struct stat opened{}, named{};
  found_by_name_ = now;
  return ::fstat(file_.get(), &opened) == 0 &&
         ::fstatat(directory_.get(), kFile, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

Result<void> KeyRing::read() {
  auto keys = std::make_shared<Keys>();
  std::optional<Version> version;
  do {
    found_by_name_ = monotonic_ns();
    auto file = open_private_file(directory_.get(), kFile, O_RDONLY);
    if (!file) return std::unexpected(std::move(file.error()));
    file_ = std::move(*file);
    if (!file_) {
      keys_ = std::move(keys);
      return {};
    }
    version = version_of(file_.get());
    if (!version) return fail(Reason::unavailable, SysError{"fstat", kFile, errno});
  } while (version->links == 0);  // replaced since it was opened
  auto list = read_keys(file_.get());
  if (!list) return std::unexpected(std::move(list.error()));
  for (Key& key : *list)
    keys->emplace(key.id, std::move(key));
  keys_ = std::move(keys);
  version_ = *version;
  return {};
}

Result<Key> KeyRing::find(std::string_view text, Moment now) {
  const auto keys = look();
  if (!keys) return std::unexpected(keys.error());
  const auto found = keys->find(text, now);
  if (!found) return std::unexpected(found.error());
  return **found;
}

Result<const Key*> KnownKeys::find(std::string_view text, Moment now) const {
  const auto unknown = [] { return fail(Reason::permission, "the key is not known"); };
  if (text.size() != kPrefix.size() + kIdSize + 1 + kSecretSize || !text.starts_with(kPrefix))
    return unknown();
  const auto found = keys_->find(text.substr(kPrefix.size(), kIdSize));
  // An id that nobody has costs the same as one that somebody has.
  static const std::string kNobody(64, '0');
  const bool known = found != keys_->end();
  const Sha256Text digest(sha256(text));
  if (!same_hash(digest.view(), known ? found->second.hash : kNobody) || !known) return unknown();
  if (found->second.expires && now >= *found->second.expires)
    return fail(Reason::permission, "the key has expired", "ask for a new one");
  return &found->second;
}

}  // namespace sallyport
