#include "cell/parked.h"

#include <fcntl.h>

#include <optional>
#include <utility>

#include "cell/late.h"
#include "warm/hot_pages.h"

namespace sallyport {
namespace {

std::unique_ptr<Cell> park(const CellSpec& spec, Parking parking) {
  auto cell = Cell::make(spec, {}, nullptr, std::move(parking));
  return cell && (*cell)->park() ? std::move(*cell) : nullptr;
}

// One that finds no note of the pages that it will need touches them itself, which takes longer
// than a call should wait.
std::unique_ptr<Cell> park_copy(const CellSpec& spec, int image, const SharedRoot* root,
                                bool dozes = false) {
  const bool rehearses = !has_hot_pages(image);
  dozes = dozes && !rehearses;
  std::vector<std::string> runner = {std::string("/") + kRestorePlace};
  if (dozes) runner.emplace_back("doze");
  return park(spec, {.runner = std::move(runner),
                     .stands_for = words_stood_for(spec.warm.interpreter),
                     .image = Fd(::fcntl(image, F_DUPFD_CLOEXEC, 3)),
                     .rehearses = rehearses,
                     .dozes = dozes,
                     .root = root});
}

Result<Fd> take_image(const CellSpec& spec) {
  auto cell =
      Cell::make(spec, {}, nullptr,
                 Parking{.runner = waiting_command(spec.warm), .stands_for = 0, .image = {}});
  if (!cell) return std::unexpected(std::move(cell.error()));
  if (!(*cell)->park()) return fail(Reason::unavailable, (*cell)->complaint());
  return (*cell)->take_image();
}

}  // namespace

// Two cells, one after the other: the template, and the first copy of it.
Result<Fd> make_image(CellSpec spec) {
  spec.grants.clear();
  spec.use_stdin = false;
  auto image = take_image(spec);
  if (!image) return image;
  if (const auto first = park_copy(spec, image->get(), nullptr))
    if (auto noted = first->note_hot_pages(image->get())) return noted;
  return image;
}

std::unique_ptr<Cell> make_parked(const CellSpec& spec, int image, const SharedRoot* root,
                                  bool dozes) {
  const std::size_t words = words_stood_for(spec.warm.interpreter);
  switch (spec.warm.interpreter) {
    case Interpreter::node:
      return park(
          spec,
          {.runner = waiting_command(spec.warm), .stands_for = words, .image = {}, .root = root});
    case Interpreter::python:
      if (image < 0) break;
      return park_copy(spec, image, root, dozes);
    case Interpreter::none:
      break;
  }
  return park(spec, {.root = root});
}

Outcome run_parked_cell(const CellSpec& spec, const CellStreams& streams) {
  if (!may_be_parked(spec) || !fits_parked(spec)) return run_cell(spec, streams);
  CellSpec kind = class_of(spec);
  kind.command = {"-"};
  Fd image;
  if (kind.warm.interpreter == Interpreter::python)
    if (auto made = make_image(kind)) image = std::move(*made);
  std::optional<SharedRoot> root;
  if (may_share_root(kind)) {
    auto made = make_shared_root(kind);
    if (!made) return blocked(spec.call_id, std::move(made.error()));
    root = std::move(*made);
  }
  auto cell = make_parked(kind, image.get(), root ? &*root : nullptr);
  if (cell && cell->get_ready(spec, streams) && cell->start()) return cell->run();
  return run_cell(spec, streams);
}

}  // namespace sallyport
