#include "support/cell_runner.h"

namespace sallyport::test {
namespace {

class Smoke : public CellTest {};

TEST_P(Smoke, ACommandRunsAndItsExitCodeComesBack) {
  EXPECT_EQ(run_cell(GetParam(), {"--", "sh", "-c", "exit 7"}).exit_code, 7);
}

SALLYPORT_FOR_ROOT_AND_USER(Smoke);

}  // namespace
}  // namespace sallyport::test
