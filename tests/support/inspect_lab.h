// The small internet of inspect_lab.py: https hosts with certificates of every kind, in network and
// mount namespaces of their own.
#pragma once

#include <fstream>
#include <sstream>

#include "support/live_process.h"

namespace sallyport::test {

class InspectLab {
 public:
  InspectLab()
      : world_({"unshare", "--net", "--mount", "python3",
                SALLYPORT_SOURCE_DIR "/tests/support/inspect_lab.py", directory_.path()}) {
    EXPECT_TRUE(world_.says("up\n"));
  }

  [[nodiscard]] Ran run(As as, const std::vector<std::string>& words) const {
    return test::run(inside(as, words));
  }
  // The words of a command in the lab.
  [[nodiscard]] std::vector<std::string> inside(As as,
                                                const std::vector<std::string>& words) const {
    std::vector<std::string> argv = {"nsenter", "--net", "--mount", "--target",
                                     std::to_string(world_.pid())};
    if (as == As::user) {
      const std::string uid = std::to_string(kUserUid), gid = std::to_string(kUserGid);
      argv.insert(argv.end(), {"setpriv", "--reuid", uid, "--regid", gid, "--clear-groups", "--"});
    }
    argv.insert(argv.end(), words.begin(), words.end());
    return argv;
  }

  // What the hosts were asked since it was last asked for: heads of requests.
  [[nodiscard]] std::string seen() {
    std::ifstream file(directory_ / "seen");
    file.seekg(static_cast<std::streamoff>(seen_));
    std::ostringstream text;
    text << file.rdbuf();
    seen_ += text.str().size();
    return text.str();
  }

  // The password that /private wants of the user "lab".
  void set_password(const std::string& password) { write_file(directory_ / "password", password); }

 private:
  TempDir directory_;
  LiveProcess world_;
  std::size_t seen_ = 0;
};

}  // namespace sallyport::test
