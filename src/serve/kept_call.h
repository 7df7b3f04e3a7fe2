// A call that has ended and left nothing but its result, in one piece of memory. Thousands of them
// are kept, and none is in the cache any more when it is forgotten: every part of its own would be
// one more wait for memory, in every call.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

namespace sallyport {

class KeptCall {
 public:
  KeptCall() = default;
  KeptCall(std::string_view id, std::string_view caller, std::string_view tool,
           std::string_view json);

  [[nodiscard]] std::string_view id() const { return part(0, id_); }
  [[nodiscard]] std::string_view caller() const { return part(id_, caller_); }
  [[nodiscard]] std::string_view tool() const { return part(caller_, tool_); }
  [[nodiscard]] std::string_view json() const { return part(tool_, json_); }

 private:
  [[nodiscard]] std::string_view part(std::size_t begin, std::size_t end) const {
    return {text_.get() + begin, end - begin};
  }
  // One behind the other; where each of them ends.
  std::unique_ptr<char[]> text_;
  std::size_t id_ = 0, caller_ = 0, tool_ = 0, json_ = 0;
};

}  // namespace sallyport
