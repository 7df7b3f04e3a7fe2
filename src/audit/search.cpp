#include "audit/search.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>

#include "audit/stream_files.h"
#include "audit/stream_scan.h"
#include "base/parse.h"
#include "base/text.h"

namespace sallyport {
namespace {

constexpr std::string_view kEnded = "-";

struct NamedScan {
  std::string name;
  std::unique_ptr<StreamScan> scan;  // none: its end was reached on an earlier page
};

// STREAM:SEQ,… as cursor_of() writes it.
Result<std::map<std::string, std::optional<std::uint64_t>>> read_cursor(std::string_view text) {
  std::map<std::string, std::optional<std::uint64_t>> places;
  while (!text.empty()) {
    std::string_view place = take(text, ',');
    const std::string_view name = take(place, ':');
    const auto seq = whole_number<std::uint64_t>(place);
    if (!is_stream_name(name) || (!seq && place != kEnded))
      return fail(Reason::argument, "this is no cursor of a search",
                  "give back the one that came with the page before");
    places[std::string(name)] = seq;
  }
  return places;
}

std::string cursor_of(const std::vector<NamedScan>& scans) {
  std::string cursor;
  bool more = false;
  for (const NamedScan& each : scans) {
    const bool ended = each.scan == nullptr || each.scan->ended();
    more = more || !ended;
    const auto position = ended ? std::nullopt : each.scan->position();
    if (!ended && !position) continue;  // from its beginning
    cursor.append(cursor.empty() ? "" : ",").append(each.name).append(":");
    cursor.append(ended ? std::string(kEnded) : std::to_string(*position));
  }
  return more ? (cursor.empty() ? "," : cursor) : "";
}

Result<std::vector<NamedScan>> open_scans(int state_directory, const AuditQuery& query,
                                          const LineQuery& lines) {
  const auto places = read_cursor(query.cursor == "," ? "" : query.cursor);
  if (!places) return std::unexpected(places.error());
  std::vector<NamedScan> scans;
  const auto audit = open_directory(state_directory, "audit", false);
  if (!audit) return std::unexpected(audit.error());
  if (!audit->valid()) return scans;
  if (!query.tenant.empty() && !is_stream_name(query.tenant))
    return fail(Reason::argument, quoted(query.tenant) + " is no name of a tenant");
  auto names =
      query.tenant.empty() ? list_streams(audit->get()) : std::vector<std::string>{query.tenant};
  if (!names) return std::unexpected(std::move(names.error()));
  for (const std::string& name : *names) {
    const auto place = places->find(name);
    if (place != places->end() && !place->second) {
      scans.push_back({name, nullptr});
      continue;
    }
    auto directory = open_directory(audit->get(), name, false);
    if (!directory) return std::unexpected(std::move(directory.error()));
    if (!directory->valid()) continue;  // a tenant that made no call yet
    scans.push_back({name, std::make_unique<StreamScan>(
                               std::move(*directory), lines,
                               place == places->end() ? std::nullopt : place->second)});
  }
  return scans;
}

}  // namespace

Result<AuditEnd> scan_audit(
    int state_directory, const AuditQuery& query,
    const std::function<bool(const std::string& stream, std::string_view line)>& take) try {
  const auto lines = LineQuery::from(query);
  if (!lines) return std::unexpected(lines.error());
  auto scans = open_scans(state_directory, query, *lines);
  if (!scans) return std::unexpected(std::move(scans.error()));
  std::uint64_t budget =
      query.most_bytes == 0 ? std::numeric_limits<std::uint64_t>::max() : query.most_bytes;
  AuditEnd end;
  for (std::size_t found = 0; query.limit == 0 || found < query.limit; ++found) {
    NamedScan* best = nullptr;
    const StreamScan::Match* best_match = nullptr;
    bool unknown = false;  // a stream whose next match was not reached
    for (NamedScan& each : *scans) {
      if (each.scan == nullptr) continue;
      // Each stream gets on by a block at least, or two small pages would be the same.
      std::uint64_t own = std::max<std::uint64_t>(budget, 1);
      auto match = each.scan->look(own);
      end.bytes_read += std::max<std::uint64_t>(budget, 1) - own;
      budget = std::min(budget, own);
      if (!match) return std::unexpected(std::move(match.error()));
      if (*match == nullptr) {
        unknown = unknown || !each.scan->ended();
        continue;
      }
      const bool earlier =
          best_match == nullptr || (query.newest_first ? (*match)->time > best_match->time
                                                       : (*match)->time < best_match->time);
      if (earlier) {
        best = &each;
        best_match = *match;
      }
    }
    if (best == nullptr || unknown) break;
    const bool goes_on = take(best->name, best_match->line);
    best->scan->take();
    if (!goes_on) break;
  }
  end.cursor = cursor_of(*scans);
  return end;
} catch (const std::exception& error) {
  return fail(Reason::unavailable, std::string("the search failed: ") + error.what());
}

Result<AuditPage> search_audit(int state_directory, const AuditQuery& query) {
  AuditPage page;
  auto end =
      scan_audit(state_directory, query, [&](const std::string& stream, std::string_view line) {
        auto record = parse_json(line, {.max_depth = 256});
        if (!record || !record->is_object()) return true;
        record->get_object()["stream"] = stream;
        page.records.push_back(std::move(record->get_object()));
        return true;
      });
  if (!end) return std::unexpected(std::move(end.error()));
  page.cursor = std::move(end->cursor);
  return page;
}

}  // namespace sallyport
