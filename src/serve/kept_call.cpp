#include "serve/kept_call.h"

namespace sallyport {

KeptCall::KeptCall(std::string_view id, std::string_view caller, std::string_view tool,
                   std::string_view json)
    : text_(std::make_unique_for_overwrite<char[]>(id.size() + caller.size() + tool.size() +
                                                   json.size())),
      id_(id.size()),
      caller_(id_ + caller.size()),
      tool_(caller_ + tool.size()),
      json_(tool_ + json.size()) {
  id.copy(text_.get(), id.size());
  caller.copy(text_.get() + id_, caller.size());
  tool.copy(text_.get() + caller_, tool.size());
  json.copy(text_.get() + tool_, json.size());
}

}  // namespace sallyport
