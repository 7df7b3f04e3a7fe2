#include "boundary/gates.h"
#include "cell/output.h"

namespace sallyport {
namespace {

bool cut(std::string& text, ByteSize limit) {
  if (text.size() <= limit.bytes) return false;
  CapturedStream kept(limit);
  kept.append(text);
  text = kept.text();
  return true;
}

}  // namespace

// The cell has trimmed already, except where all of the output was wanted as data.
Pass trim(Passage& passage) {
  CallResult& result = passage.result;
  if (result.truncated) return {};
  const bool output = cut(result.output, passage.limits.max_output);
  const bool error = cut(result.error, passage.limits.max_output);
  result.truncated = output || error;
  return {};
}

}  // namespace sallyport
