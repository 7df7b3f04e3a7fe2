// The secrets that the egress process holds, by the names of their credentials. Another process
// reads their sources, and says what became of them; nobody else ever has them.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>

#include "credential/source.h"
#include "egress/link.h"

namespace sallyport {

class Secrets {
 public:
  Secrets() = default;
  ~Secrets();
  Secrets(const Secrets&) = delete;
  Secrets& operator=(const Secrets&) = delete;

  // From now on it is what the news say. The old value is wiped.
  void take(SecretNews news);

  // Empty: it cannot be had, see why_not().
  [[nodiscard]] const std::string& value_of(const std::string& name) const;
  // As a sentence.
  [[nodiscard]] std::string why_not(const std::string& name) const;

  // While it lasts, the link is reset when one of these is taken back: "a, b".
  class Watch {
   public:
    Watch(Secrets& secrets, std::string_view names, Link& link);
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

   private:
    friend Secrets;
    Secrets& secrets_;
    std::string names_;  // ", a, b, "
    Link& link_;
  };

  // Until something is known about all of them; a process that has just begun knows of none.
  Task<void> wait_for(std::span<const std::string> names);

 private:
  [[nodiscard]] bool knows(std::span<const std::string> names) const;

  std::map<std::string, SecretNews> known_;
  std::set<Watch*> watches_;
};

}  // namespace sallyport
