#include "redact/net_maker.h"

#include <algorithm>
#include <cstdlib>

#include "base/text.h"

namespace sallyport {

std::optional<Width> width_of(const std::string& pattern, unsigned flags) {
  hs_expr_info_t* info = nullptr;
  hs_compile_error_t* error = nullptr;
  if (hs_expression_info(pattern.c_str(), flags, &info, &error) != HS_SUCCESS) {
    hs_free_compile_error(error);
    return std::nullopt;
  }
  const Width width{info->min_width, info->max_width};
  std::free(info);  // NOLINT: allocated by Hyperscan with malloc
  return width;
}

std::optional<unsigned> NetMaker::fixed_width(const std::string& pattern, unsigned flags) const {
  const std::size_t number = net.expressions.size();
  if (ready && number < ready->widths.size()) return ready->widths[number];
  const auto width = width_of(pattern, flags);
  if (!width || width->least != width->most) return std::nullopt;
  return width->least;
}

void NetMaker::add(std::string pattern, unsigned flags, Expression expression, std::size_t back) {
  const auto number = static_cast<unsigned>(net.expressions.size());
  net.expressions.push_back(expression);
  net.furthest_back = std::max(net.furthest_back, back);
  const auto [known, fresh] = last_of_.try_emplace({pattern, flags}, number);
  if (fresh) {
    patterns_.push_back(std::move(pattern));
    flags_.push_back(flags);
    ids_.push_back(number);
  } else {
    net.expressions[known->second].next = number;
    known->second = number;
  }
}

std::uint32_t NetMaker::label(std::string id, std::string marker, std::uint8_t rank) {
  net.labels.push_back(
      {std::move(id), std::move(marker), static_cast<std::uint32_t>(net.labels.size()), rank});
  return static_cast<std::uint32_t>(net.labels.size() - 1);
}

Result<Net> NetMaker::compile(const hs_platform_info_t* platform) {
  if (take_ready()) return std::move(net);
  std::vector<const char*> patterns;
  patterns.reserve(patterns_.size());
  for (const std::string& pattern : patterns_)
    patterns.push_back(pattern.c_str());
  hs_database_t* database = nullptr;
  hs_compile_error_t* error = nullptr;
  if (hs_compile_multi(patterns.data(), flags_.data(), ids_.data(),
                       static_cast<unsigned>(patterns.size()), HS_MODE_STREAM, platform, &database,
                       &error) != HS_SUCCESS) {
    std::string message = "the redaction rules cannot be compiled";
    if (error != nullptr) {
      message.append(": ").append(error->message);
      if (error->expression >= 0)
        message.append(" in ").append(
            sallyport::quoted(patterns_[static_cast<std::size_t>(error->expression)]));
    }
    hs_free_compile_error(error);
    return fail(Reason::argument, std::move(message));
  }
  net.database.reset(database);
  return std::move(net);
}

bool NetMaker::take_ready() {
  hs_database_t* database = nullptr;
  if (!ready || ready->widths.size() != net.expressions.size() ||
      hs_deserialize_database(ready->database.data(), ready->database.size(), &database) !=
          HS_SUCCESS)
    return false;
  net.database.reset(database);
  return true;
}

}  // namespace sallyport
