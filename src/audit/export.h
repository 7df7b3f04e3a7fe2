// Records in the forms of other programs.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace sallyport {

enum class ExportFormat { jsonl, ocsf, csv };

[[nodiscard]] std::optional<ExportFormat> parse_export_format(std::string_view text);

// What stands before the first record; the header of a CSV.
[[nodiscard]] std::string export_header(ExportFormat format);

// One record as one line, with its line end.
[[nodiscard]] std::string export_record(ExportFormat format, const std::string& stream,
                                        std::string_view line);

// A record as an event of the Open Cybersecurity Schema Framework: class 6003, API Activity.
[[nodiscard]] json::object ocsf_event(const std::string& stream, const json::object& record);

// One cell of a CSV. A spreadsheet takes what begins with = + - @ (or a tab) for a formula, so such
// a cell gets a ' in front: a caller's name must not run in the office. Nor must it colour the
// terminal that shows the file: control characters are written out, a line end as \n, so that a
// record is one line.
[[nodiscard]] std::string csv_cell(std::string_view text);

}  // namespace sallyport
