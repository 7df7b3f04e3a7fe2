// A pipe for tests.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/fd.h"

namespace sallyport {

struct Pipe {
  Fd read, write;
  explicit Pipe(int flags = 0) {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC | flags), 0);
    read = Fd(ends[0]);
    write = Fd(ends[1]);
  }
};

}  // namespace sallyport
