// Follows the records of one stream and finds the first that is bad. A broken link between two
// records does not say which of them was changed; what comes next does.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>

#include "audit/checkpoint.h"
#include "audit/record_line.h"
#include "audit/verify.h"

namespace sallyport {

class ChainChecker {
 public:
  // A root that the log must have had at a size.
  void expect(const Checkpoint& checkpoint);

  // The next line of the log. False: something is bad, and that is the end.
  [[nodiscard]] bool feed(std::string_view line, const std::string& file, std::uint64_t number);
  // What stands there is no line at all.
  void refuse(const std::string& file, std::uint64_t number, std::string what);
  // The log ends here.
  void finish(const std::string& file, std::uint64_t number);

  [[nodiscard]] std::uint64_t size() const { return tree_.size(); }
  [[nodiscard]] std::uint64_t covered() const { return verified_; }
  [[nodiscard]] const std::string& covered_at() const { return verified_at_; }
  [[nodiscard]] const std::optional<BadPlace>& bad() const { return bad_; }

 private:
  struct Place {
    std::string file;
    std::uint64_t number = 0;
  };
  // The link between the last two records is broken: which of the two?
  struct BrokenLink {
    Place earlier, later;
  };
  // A checkpoint is not about this tree.
  struct WrongRoot {
    std::string time;
    Place last;
  };
  bool stop(const Place& place, std::uint64_t seq, std::string what);
  bool stop_rewritten(const WrongRoot& wrong, std::uint64_t likely, bool chain_ends);
  void check_roots(const MerkleTree& other);

  MerkleTree tree_, before_;  // with and without the last record
  Hash last_{};
  Place place_;  // of the last record
  std::uint64_t verified_ = 0;
  std::string verified_at_;
  std::map<std::uint64_t, std::deque<Checkpoint>> expected_;  // by size
  std::optional<BrokenLink> link_;
  std::optional<WrongRoot> root_;
  std::optional<BadPlace> bad_;
};

}  // namespace sallyport
