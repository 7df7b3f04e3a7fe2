#include "audit/export.h"

#include <algorithm>
#include <ctime>

#include "base/text.h"

namespace sallyport {
namespace {

constexpr std::string_view kColumns[] = {
    "time",   "stream", "seq",  "record",       "call_id",           "tenant",  "caller", "tool",
    "status", "reason", "rule", "address",      "exit_code",         "wall_us", "cpu_us", "policy",
    "key",    "trace",  "tier", "output_bytes", "peak_memory_bytes", "cost"};

// What a call used is an object within its record.
std::string used(const json::object& record, std::string_view column) {
  const json::value* value = record.if_contains("usage");
  const json::object* usage = value != nullptr ? value->if_object() : nullptr;
  if (usage == nullptr) return {};
  const auto number = [&](std::string_view key) {
    const json::value* found = usage->if_contains(key);
    return found != nullptr && found->is_int64() ? found->get_int64() : 0;
  };
  if (column == "cpu_us") return std::to_string(number("cpu_user_us") + number("cpu_system_us"));
  return usage->contains(column) ? std::to_string(number(column)) : std::string();
}

std::string text_of(const json::object& record, std::string_view key) {
  const json::value* value = record.if_contains(key);
  if (value == nullptr || value->is_null()) return {};
  return value->is_string() ? std::string(value->get_string()) : canonical_json(*value);
}

// Milliseconds since 1970 of a time as records have it; 0 for anything else.
std::int64_t milliseconds(const std::string& time) {
  tm utc{};
  const char* end = ::strptime(time.c_str(), "%Y-%m-%dT%H:%M:%S", &utc);
  if (end == nullptr) return 0;
  const std::int64_t fraction =
      *end == '.' ? std::strtol(std::string(end + 1).substr(0, 3).c_str(), nullptr, 10) : 0;
  return ::timegm(&utc) * 1000 + fraction;
}

}  // namespace

std::optional<ExportFormat> parse_export_format(std::string_view text) {
  if (text == "jsonl") return ExportFormat::jsonl;
  if (text == "ocsf") return ExportFormat::ocsf;
  if (text == "csv") return ExportFormat::csv;
  return std::nullopt;
}

std::string csv_cell(std::string_view text) {
  // The last four are = + - @ in full width, which some spreadsheets take for the same.
  constexpr std::string_view kFormula[] = {"=",  "+",      "-",      "@",      "\t",    "\r",
                                           "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20"};
  std::string cell;
  if (std::ranges::any_of(kFormula,
                          [text](std::string_view sign) { return text.starts_with(sign); }))
    cell.push_back('\'');
  cell.append(escape_for_terminal(text));
  if (cell.find_first_of(",\"") == std::string::npos) return cell;
  std::string quoted = "\"";
  for (const char c : cell) {
    if (c == '"') quoted.push_back('"');
    quoted.push_back(c);
  }
  return quoted.append("\"");
}

json::object ocsf_event(const std::string& stream, const json::object& record) {
  constexpr int kCategory = 6, kClass = 6003, kOther = 99;
  const std::string status = text_of(record, "status"), reason = text_of(record, "reason");
  const std::string kind = text_of(record, "record"), tool = text_of(record, "tool");
  const bool blocked = status == "blocked", failed = !status.empty() && status != "success";
  json::object event{
      {"category_uid", kCategory},
      {"category_name", "Application Activity"},
      {"class_uid", kClass},
      {"class_name", "API Activity"},
      {"activity_id", kOther},
      {"activity_name", kind},
      {"type_uid", kClass * 100 + kOther},
      {"type_name", "API Activity: Other"},
      {"time", milliseconds(text_of(record, "time"))},
      {"severity_id", blocked  ? 3
                      : failed ? 2
                               : 1},
      {"severity", blocked  ? "Medium"
                   : failed ? "Low"
                            : "Informational"},
      {"metadata",
       json::object{{"version", "1.3.0"},
                    {"profiles", json::array{"security_control"}},
                    {"product", json::object{{"name", "Sallyport"}, {"vendor_name", "Sallyport"}}},
                    {"log_name", "audit/" + stream},
                    {"uid", stream + ":" + text_of(record, "seq")}}},
      {"actor", json::object{{"user", json::object{{"name", text_of(record, "caller")},
                                                   {"type_id", kOther},
                                                   {"type", "Agent"}}}}},
      {"api", json::object{{"operation", tool.empty() ? kind : tool},
                           {"service", json::object{{"name", "sallyport"}}},
                           {"request", json::object{{"uid", text_of(record, "call_id")}}}}},
      {"unmapped", record}};
  const std::string address = text_of(record, "address");
  event["src_endpoint"] =
      address.empty() ? json::object{{"name", "local"}} : json::object{{"ip", address}};
  if (const std::string tenant = text_of(record, "tenant"); !tenant.empty())
    event["actor"].as_object()["user"].as_object()["org"] = json::object{{"name", tenant}};
  if (!status.empty()) {
    event["status_id"] = failed ? 2 : 1;
    event["status"] = failed ? "Failure" : "Success";
    event["action_id"] = blocked ? 2 : 1;
    event["action"] = blocked ? "Denied" : "Allowed";
    event["disposition_id"] = blocked ? 2 : 1;
    event["disposition"] = blocked ? "Blocked" : "Allowed";
  }
  if (!reason.empty()) {
    event["status_code"] = reason;
    event["status_detail"] = text_of(record, "rule").empty() ? reason : text_of(record, "rule");
  }
  if (const std::string wall = used(record, "wall_us"); !wall.empty())
    event["duration"] = std::stoll(wall) / 1000;
  return event;
}

std::string export_header(ExportFormat format) {
  if (format != ExportFormat::csv) return {};
  std::string line;
  for (const std::string_view column : kColumns)
    line.append(line.empty() ? "" : ",").append(column);
  return line.append("\r\n");
}

std::string export_record(ExportFormat format, const std::string& stream, std::string_view line) {
  if (format == ExportFormat::jsonl) return std::string(line) + "\n";
  const auto value = parse_json(line, {.max_depth = 256});
  if (!value || !value->is_object()) return {};
  const json::object& record = value->get_object();
  if (format == ExportFormat::ocsf) return canonical_json(ocsf_event(stream, record)) + "\n";
  std::string row;
  for (const std::string_view column : kColumns) {
    if (column != kColumns[0]) row.push_back(',');
    std::string cell = column == "stream" ? stream : text_of(record, column);
    if (cell.empty()) cell = used(record, column);
    row.append(csv_cell(cell));
  }
  return row.append("\r\n");
}

}  // namespace sallyport
