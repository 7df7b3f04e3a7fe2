#include "audit/chain_checker.h"

namespace sallyport {
namespace {

std::string record(std::uint64_t seq) {
  return "record " + std::to_string(seq);
}

}  // namespace

void ChainChecker::expect(const Checkpoint& checkpoint) {
  expected_[checkpoint.size].push_back(checkpoint);
  if (checkpoint.size == tree_.size()) check_roots(tree_);
}

bool ChainChecker::stop(const Place& place, std::uint64_t seq, std::string what) {
  if (!bad_)
    bad_ = BadPlace{
        .file = place.file, .line = place.number, .seq = seq, .from = seq, .what = std::move(what)};
  return false;
}

bool ChainChecker::stop_rewritten(const WrongRoot& wrong, std::uint64_t likely, bool chain_ends) {
  const std::string range =
      "records from " + std::to_string(verified_) + " to " + std::to_string(tree_.size() - 1);
  stop(wrong.last, likely,
       chain_ends && likely > verified_
           ? record(likely) + " was changed, or " + range +
                 " were rewritten with their chain: the checkpoint of " + wrong.time +
                 " has another root"
           : (likely + 1 == tree_.size()
                  ? record(likely) + " was changed"
                  : "one of the " + range + " was changed, and the chain behind it rewritten") +
                 ": the checkpoint of " + wrong.time + " has another root");
  bad_->from = verified_;
  return false;
}

bool ChainChecker::feed(std::string_view line, const std::string& file, std::uint64_t number) {
  const std::uint64_t seq = tree_.size();
  const Place place{file, number};
  const auto view = read_record(line);
  const bool in_place = view && view->seq == seq;
  const bool linked = in_place && view->prev == to_hex(last_);
  if (link_) {
    // The later of the two names the earlier by another hash. If the chain goes on behind it, it is
    // as it was written.
    if (linked) return stop(link_->earlier, seq - 2, record(seq - 2) + " was changed");
    return stop(link_->later, seq - 1, record(seq - 1) + " was changed");
  }
  if (root_) {
    if (in_place && !linked) return stop(root_->last, seq - 1, record(seq - 1) + " was changed");
    return stop_rewritten(*root_, verified_, false);
  }
  if (!view) return stop(place, seq, record(seq) + " is not a record any more");
  if (!in_place)
    return stop(place, seq,
                view->seq > seq
                    ? record(seq) + " is missing: " + record(view->seq) + " stands in its place"
                    : "another " + record(view->seq) + " stands where " + record(seq) +
                          " should be: one was put in, or moved");
  if (!linked) {
    if (seq == 0) return stop(place, 0, "record 0 was changed");
    if (verified_ == seq) return stop(place, seq, record(seq) + " was changed");
    link_ = BrokenLink{place_, place};
  }
  // The tree as the later record saw it.
  MerkleTree other = before_;
  if (link_) {
    if (const auto named = hash_from_hex(view->prev)) other.append(*named);
  }
  before_ = tree_;
  last_ = leaf_hash(line);
  place_ = place;
  tree_.append(last_);
  if (link_) other.append(last_);
  if (!expected_.empty() && expected_.begin()->first == tree_.size()) check_roots(other);
  return !bad_;
}

void ChainChecker::check_roots(const MerkleTree& other) {
  const auto due = expected_.find(tree_.size());
  if (due == expected_.end()) return;
  const std::uint64_t seq = tree_.size() - 1;
  for (const Checkpoint& checkpoint : due->second) {
    if (link_) {
      const bool later_is_good = other.size() == tree_.size() && other.root() == checkpoint.root;
      if (later_is_good)
        stop(link_->earlier, seq - 1, record(seq - 1) + " was changed");
      else
        stop(link_->later, seq, record(seq) + " was changed");
      return;
    }
    if (checkpoint.root != tree_.root()) {
      if (!root_) root_ = WrongRoot{checkpoint.time, place_};
    } else if (!root_) {
      verified_ = checkpoint.size;
      verified_at_ = checkpoint.time;
    }
  }
  expected_.erase(due);
}

void ChainChecker::refuse(const std::string& file, std::uint64_t number, std::string what) {
  if (bad_) return;
  if (link_ || root_) return finish(file, number);
  stop({file, number}, tree_.size(), std::move(what));
}

void ChainChecker::finish(const std::string& file, std::uint64_t number) {
  if (bad_) return;
  if (link_) {
    stop(link_->earlier, tree_.size() - 2,
         record(tree_.size() - 2) + " was changed, or the one behind it");
  } else if (root_) {
    stop_rewritten(*root_, tree_.size() == 0 ? 0 : tree_.size() - 1, true);
  } else if (!expected_.empty()) {
    const auto& [size, checkpoints] = *expected_.rbegin();
    stop({file, number}, tree_.size(),
         "the log ends after " + std::to_string(tree_.size()) + " records; the checkpoint of " +
             checkpoints.back().time + " covers " + std::to_string(size));
  }
}

}  // namespace sallyport
