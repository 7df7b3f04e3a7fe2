// A network of the tests' own, in which every address of the world leads to servers of the lab: a
// process in its own network and mount namespaces. Nothing of it is left when it is gone.
#pragma once

#include <map>
#include <memory>

#include "support/live_process.h"

namespace sallyport::test {

class EgressLab {
 public:
  EgressLab();

  // In the lab, and in no cell: the twin of what a cell does.
  [[nodiscard]] Ran outside(const std::vector<std::string>& argv, const std::string& input = "",
                            As as = As::root) const;
  [[nodiscard]] LiveProcess start(As as, const std::vector<std::string>& argv) const {
    return LiveProcess(inside(as, argv));
  }
  // `sallyport run ARGS` in the lab, which the programs of a cell trust as an authority.
  [[nodiscard]] Ran cell(As as, const std::vector<std::string>& args,
                         const std::string& input = "") const;
  [[nodiscard]] LiveProcess start_cell(As as, const std::vector<std::string>& args) const;

  // The probes of egress_probe.py, all at once: in a cell with these options, and outside.
  struct Probe {
    std::string label;
    std::string host;
    int port = 80;
    std::vector<std::string> send;  // segments
    std::string hello;              // the server name of a TLS hello, in place of `send`
    std::string as;                 // how the hello is written
    std::string first;              // said before it
  };
  struct Answer {
    std::string got, error;
    std::int64_t ms = 0;
  };
  using Answers = std::map<std::string, Answer>;
  struct Probed {
    Answers answers;
    boost::json::object result;  // of the cell
  };
  [[nodiscard]] Probed probe(As as, std::vector<std::string> options,
                             const std::vector<Probe>& probes) const;
  [[nodiscard]] Answers probe_outside(const std::vector<Probe>& probes) const;

  // What the servers have seen since it was last asked; egress_lab.py says in which words.
  [[nodiscard]] std::vector<std::string> seen();

  // Of the lab's own: public/ stands at /lab in its cells, www/ is served over http and https.
  [[nodiscard]] std::string operator/(const std::string& name) const { return directory_ / name; }

 private:
  [[nodiscard]] std::vector<std::string> inside(As as, const std::vector<std::string>& argv) const;
  [[nodiscard]] std::vector<std::string> cell_words(const std::vector<std::string>& args) const;

  TempDir directory_;
  std::unique_ptr<LiveProcess> process_;
  std::size_t seen_ = 0;  // bytes of the log
};

// The lines that begin with `word`.
[[nodiscard]] std::vector<std::string> lines_of(const std::vector<std::string>& seen,
                                                const std::string& word);

// The `network` of a result, without the names that were looked up, one line each:
// "KIND VERDICT HOST:PORT at ADDRESS: WHY", as far as it is known.
[[nodiscard]] std::vector<std::string> network_of(const boost::json::object& result);

// The lines of the names: "VERDICT NAME".
[[nodiscard]] std::vector<std::string> names_of(const boost::json::object& result);

inline std::string text_of(const boost::json::object& object, const char* key) {
  const auto* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->as_string()) : "";
}

}  // namespace sallyport::test
