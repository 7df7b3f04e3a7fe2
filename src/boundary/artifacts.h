// Where the files that a call brings back lie until their contents are in its result.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sallyport/artifact.h"
#include "sallyport/error.h"
#include "sallyport/finding.h"

namespace sallyport {

// A private directory that goes with its object.
class [[nodiscard]] ArtifactSpace {
 public:
  static Result<ArtifactSpace> make();
  ArtifactSpace(ArtifactSpace&& other) noexcept;
  ArtifactSpace& operator=(ArtifactSpace&& other) noexcept;
  ~ArtifactSpace();

  [[nodiscard]] const std::string& path() const { return path_; }

  // The contents of the artifacts, by name. One that cannot be read is a finding.
  [[nodiscard]] std::map<std::string, std::string> take(const std::vector<Artifact>& artifacts,
                                                        std::vector<Finding>& findings) const;

 private:
  explicit ArtifactSpace(std::string path) : path_(std::move(path)) {}
  std::string path_;  // empty once moved from
};

}  // namespace sallyport
