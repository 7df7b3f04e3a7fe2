#include "audit/export.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace sallyport {
namespace {

constexpr std::string_view kLine =
    R"({"address":"203.0.113.7","call_id":"c1","caller":"=cmd|' /C calc'!A0","prev":"00",)"
    R"("reason":"permission","record":"outcome","rule":"tools.x.needs","seq":7,)"
    R"("status":"blocked","tenant":"acme","time":"2026-10-04T12:30:00.123456Z",)"
    R"("tool":"a,\"b\"","usage":{"cpu_system_us":1,"cpu_user_us":2,"wall_us":5000}})";

TEST(AuditExport, KeepsJsonLinesAsTheyAre) {
  EXPECT_EQ(export_record(ExportFormat::jsonl, "acme", kLine), std::string(kLine) + "\n");
  EXPECT_EQ(export_header(ExportFormat::jsonl), "");
}

TEST(AuditExport, WritesCellsThatNoSpreadsheetRuns) {
  const std::string row = export_record(ExportFormat::csv, "acme", kLine);
  EXPECT_TRUE(
      row.starts_with("2026-10-04T12:30:00.123456Z,acme,7,outcome,c1,acme,"
                      "'=cmd|' /C calc'!A0,\"a,\"\"b\"\"\",blocked,permission,"))
      << row;
  const std::string header = export_header(ExportFormat::csv);
  EXPECT_TRUE(header.starts_with("time,stream,seq,"));
  EXPECT_EQ(std::ranges::count(header, ','), std::ranges::count(row, ',') - 1)
      << "but for the one in the tool's name";
  for (const char* evil : {"=1", "+1", "-1", "@x", "\tx", "\rx"})
    EXPECT_NE(csv_cell(evil).find('\''), std::string::npos) << evil;
  EXPECT_EQ(csv_cell("a=b"), "a=b");
  EXPECT_EQ(csv_cell("-\n"), "\"'-\n\"");
}

TEST(AuditExport, MakesEventsOfApiActivity) {
  const auto event = json::parse(export_record(ExportFormat::ocsf, "acme", kLine)).as_object();
  EXPECT_EQ(event.at("class_uid"), 6003);
  EXPECT_EQ(event.at("category_uid"), 6);
  EXPECT_EQ(event.at("type_uid"), 600399);
  EXPECT_EQ(event.at("time"), 1791117000123);
  EXPECT_EQ(event.at("status_id"), 2);
  EXPECT_EQ(event.at("disposition_id"), 2);
  EXPECT_EQ(event.at("status_code"), "permission");
  EXPECT_EQ(event.at("duration"), 5);
  EXPECT_EQ(event.at("src_endpoint").at("ip"), "203.0.113.7");
  EXPECT_EQ(event.at("metadata").at("uid"), "acme:7");
  // What the class asks for.
  for (const char* field : {"activity_id", "actor", "api", "category_uid", "class_uid", "metadata",
                            "severity_id", "src_endpoint", "time", "type_uid"})
    EXPECT_TRUE(event.contains(field)) << field;
}

TEST(AuditExport, LeavesOutLinesThatAreNoRecords) {
  EXPECT_EQ(export_record(ExportFormat::csv, "acme", "nonsense"), "");
  EXPECT_EQ(export_record(ExportFormat::ocsf, "acme", "[]"), "");
}

}  // namespace
}  // namespace sallyport
