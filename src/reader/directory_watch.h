// Which directories have changed, as the kernel tells it.
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <string>
#include <vector>

#include "egress/link.h"

namespace sallyport {

// Whoever watches looks again in any case, only later: a watch that cannot be had is no error.
class DirectoryWatch {
 public:
  explicit DirectoryWatch(boost::asio::io_context& io);

  // The number of the directory's watch, the same for the same directory; -1: there is none.
  int add(const std::string& directory);

  // Until something was written, made, moved, deleted or opened to others in one of them: the
  // numbers of these. A number of -1 stands for all: so much has changed that not all is known.
  // Empty: there will be no more.
  Task<std::vector<int>> changes();

 private:
  boost::asio::posix::stream_descriptor events_;
};

}  // namespace sallyport
