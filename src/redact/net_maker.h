// Expressions are collected here, and become a net that looks for all of them at once.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "redact/ready_nets.h"
#include "redact/rule_set.h"

namespace sallyport {

struct Width {
  unsigned least = 0, most = 0;  // most: UINT_MAX if there is no bound
};

// How much text an expression can match; none: the scanner does not take it.
[[nodiscard]] std::optional<Width> width_of(const std::string& pattern, unsigned flags);

class NetMaker {
 public:
  Net net;
  std::optional<ReadyNet> ready;  // if there is one, widths and database come from there

  // How far an expression reaches; none: it has no fixed width.
  [[nodiscard]] std::optional<unsigned> fixed_width(const std::string& pattern,
                                                    unsigned flags) const;
  // The scanner looks for a pattern once, however many expressions have it.
  void add(std::string pattern, unsigned flags, Expression expression, std::size_t back);
  std::uint32_t label(std::string id, std::string marker, std::uint8_t rank);

  [[nodiscard]] Result<Net> compile(const hs_platform_info_t* platform = nullptr);

 private:
  // False: there is none, or not for this CPU.
  bool take_ready();

  std::vector<std::string> patterns_;
  std::vector<unsigned> flags_, ids_;
  std::map<std::pair<std::string, unsigned>, unsigned> last_of_;  // expressions with that pattern
};

}  // namespace sallyport
