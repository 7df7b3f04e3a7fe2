// API keys: who a caller is, over a network. The state directory keeps a hash of each; the key
// itself is shown once, when it is made.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "access/rate_window.h"
#include "base/fd.h"
#include "sallyport/error.h"

namespace sallyport {

struct Key {
  std::string id;  // public: in lists, logs and records
  std::string caller;
  Moment created{};  // wall clock
  std::optional<Moment> expires;
  std::optional<std::vector<std::string>> scopes;  // permissions; none: all that the caller has
  std::string hash;                                // SHA-256 of the whole key
};

// Makes a key, "sp_ID_SECRET" with 256 random bits, and returns it. The file is `keys`.
[[nodiscard]] Result<std::string> add_key(int directory, Key key);

// In the order in which they were made.
[[nodiscard]] Result<std::vector<Key>> list_keys(int directory);

// Whether there was one of that id.
[[nodiscard]] Result<bool> revoke_key(int directory, std::string_view id);

// Keys as they were at one moment.
class KnownKeys {
 public:
  // The key that the text is, if it is one and has not expired; it lasts as long as this. An error
  // means that it is not (`permission`).
  [[nodiscard]] Result<const Key*> find(std::string_view text, Moment now) const;

 private:
  friend class KeyRing;
  using Keys = std::map<std::string, Key, std::less<>>;
  explicit KnownKeys(std::shared_ptr<const Keys> keys) : keys_(std::move(keys)) {}
  std::shared_ptr<const Keys> keys_;
};

// The keys of a directory for a service: read again whenever the file has changed, so that a key
// that was revoked is refused from then on. Threads may ask at the same time.
class KeyRing {
 public:
  [[nodiscard]] static Result<std::unique_ptr<KeyRing>> open(int directory);

  // The keys of this moment. An error means that the file cannot be read (`unavailable`).
  [[nodiscard]] Result<KnownKeys> look();
  // One of them.
  [[nodiscard]] Result<Key> find(std::string_view text, Moment now);

 private:
  using Keys = KnownKeys::Keys;
  // What changes when the file is written to, replaced or moved away: it has a name less then, or
  // its inode another time. We hold the file open, so that its inode cannot be another's.
  struct Version {
    std::uint64_t links = 0, size = 0;
    std::int64_t written_ns = 0, changed_ns = 0;
    bool operator==(const Version&) const = default;
  };
  explicit KeyRing(Fd directory) : directory_(std::move(directory)) {}
  // All of these with the lock held.
  [[nodiscard]] static std::optional<Version> version_of(int file);
  [[nodiscard]] bool is_current();
  [[nodiscard]] Result<void> read();

  Fd directory_;
  std::mutex mutex_;
  Fd file_;  // none: there is none
  Version version_;
  std::int64_t found_by_name_ = 0;  // when its name was last seen to lead to it
  std::shared_ptr<const Keys> keys_;
};

}  // namespace sallyport
