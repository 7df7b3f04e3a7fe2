// One cell from its making to its end. It runs one command, at once or when it is told to: a cell
// that is made ahead of need is parked with every layer in force and waits for its order.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/error.h"
#include "cell/board.h"
#include "cell/prepare.h"
#include "cell/run.h"
#include "cell/supervisor.h"

namespace sallyport {

// What waits in a parked cell.
struct Parking {
  // Empty: init, which starts the command of the order. Otherwise an interpreter that is started
  // already: this command, which gets the order over its descriptor kConnection.
  std::vector<std::string> runner = {};
  std::size_t stands_for = 0;  // so many words of the call's command
  Fd image = {};               // of an interpreter that the runner restores: its descriptor kImage
  bool rehearses = false;      // the copy touches what a script will, before it says that it waits
  bool dozes = false;          // the copy takes no memory of its own before it is woken
  const SharedRoot* root = nullptr;
};

class Cell {
 public:
  // Makes a cell for the command of the spec, which starts at once; or, with `parking`, one for
  // whatever command comes later. An error: nothing was run and nothing is left behind.
  static Result<std::unique_ptr<Cell>> make(const CellSpec& spec, const CellStreams& streams,
                                            const LaunchFault* fault = nullptr,
                                            std::optional<Parking> parking = std::nullopt);
  ~Cell();
  Cell(const Cell&) = delete;
  Cell& operator=(const Cell&) = delete;

  // Until it is ready and, if there is one, `claim` is readable. False: it is gone, and no tool has
  // run in it.
  [[nodiscard]] bool park(int claim = -1);
  // Whether what waits in it is to be woken before it can have its order.
  [[nodiscard]] bool dozes() const { return supervisor_->dozes(); }
  // Has it get ready, which park() then waits for. False: it is gone.
  [[nodiscard]] bool wake() { return supervisor_->wake(); }
  // Of the processes that wait in it.
  void set_priority(int nice) const;
  // What they take up, in bytes.
  [[nodiscard]] std::uint64_t memory() const { return supervisor_->parked_memory(); }
  // Why a runner cannot wait, if it has said so.
  [[nodiscard]] const std::string& complaint() const { return supervisor_->complaint(); }
  // The image of the runner that is parked, which ends the cell.
  [[nodiscard]] Result<Fd> take_image();
  // The image that the parked runner is a copy of, with a note of what that has touched.
  [[nodiscard]] Result<Fd> note_hot_pages(int image) const;
  // Gives a parked cell all that it needs for its order, but not the order. Of the spec, what
  // differs from that with which it was made must be late (see late.h). False: it cannot be given.
  [[nodiscard]] bool get_ready(const CellSpec& spec, const CellStreams& streams);
  // Gives it the order. False: it cannot be given, and no tool has run.
  [[nodiscard]] bool start();

  // Watches the command to its end and answers; afterwards nothing of it runs any more. What the
  // cell was made of is taken down by end(), or by the destructor.
  Outcome run();
  // Whether nothing is left of it.
  [[nodiscard]] bool end();

  [[nodiscard]] const std::string& call_id() const { return spec_.call_id; }

 private:
  Cell(const CellSpec& spec, const CellStreams& streams) : spec_(spec), streams_(streams) {}
  Result<void> launch(const LaunchFault* fault, std::optional<Parking> parking);
  Result<void> serve_input();
  [[nodiscard]] bool write_order();
  [[nodiscard]] bool send_order();
  [[nodiscard]] Board& board() const { return prepared_.order->board(); }

  std::int64_t begin_ns_ = 0, prepared_ns_ = 0, launched_ns_ = 0, claimed_ns_ = 0;
  CellSpec spec_;
  CellStreams streams_;
  std::size_t runner_words_ = 0;  // of the command, which the runner stands for
  std::string order_;             // for the runner
  Fd input_;                      // the standard input that came with the spec
  Prepared prepared_;
  LaunchedCell launched_;
  std::optional<Supervisor> supervisor_;
};

}  // namespace sallyport
