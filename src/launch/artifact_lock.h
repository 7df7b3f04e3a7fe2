// The directories in which artifacts of calls wait for the front, and what becomes of them when it
// is killed meanwhile.
#pragma once

#include <sys/types.h>

#include <ctime>
#include <string>

namespace sallyport {

// In /tmp, as the boundary names them.
inline constexpr const char* kArtifactPlace = "/tmp";
inline constexpr const char* kArtifactPrefix = "sallyport-artifacts-";

// Says that the directory, which is open as `directory`, belongs to a call of a launcher: it is
// locked for as long as this descriptor or a copy of it is open, and marked as one that is to be
// swept when it is not. One that is elsewhere or has another name is left alone.
void hold_artifacts(int directory, const std::string& path);

// Removes the marked directories of this user that nobody holds and that nothing was put into for a
// minute: a front that is alive has let go of its own by then. Never follows a link; what belongs
// to others or cannot be removed stays.
void sweep_artifacts(const std::string& place = kArtifactPlace,
                     std::time_t now = std::time(nullptr));

}  // namespace sallyport
