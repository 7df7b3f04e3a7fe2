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
  for (const char* evil : {"=1", "+1", "-1", "@x", "\tx", "\rx", "\nx", "\uff1d1", "\uff20x"})
    EXPECT_TRUE(csv_cell(evil).starts_with('\'')) << evil;
  EXPECT_EQ(csv_cell("=HYPERLINK(\"http://x\",1)"), "\"'=HYPERLINK(\"\"http://x\"\",1)\"");
  EXPECT_EQ(csv_cell("a=b"), "a=b");
  EXPECT_EQ(csv_cell("-\n"), "'-\\n");
  EXPECT_EQ(csv_cell(""), "");
}

TEST(AuditExport, WritesCellsThatNoTerminalObeys) {
  EXPECT_EQ(csv_cell("a\x1b[2Jb"), "a\\x1b[2Jb");
  EXPECT_EQ(csv_cell("a\u009b2Jb"), "a\\u{009b}2Jb") << "a control sequence in one character";
  EXPECT_EQ(csv_cell("a\u202eb"), "a\\u{202e}b") << "text that runs backwards";
  EXPECT_EQ(csv_cell("a\r\nb"), "a\\x0d\\nb") << "a record that looks like two";
  EXPECT_EQ(csv_cell("Zo\u00eb"), "Zo\u00eb");
  const std::string row = export_record(
      ExportFormat::csv, "acme",
      R"({"caller":"\u001b]0;x\u0007","record":"intent","rule":"a\nb","seq":1,"tool":"\u007f"})");
  EXPECT_TRUE(row.ends_with("\r\n"));
  EXPECT_TRUE(std::ranges::none_of(row.substr(0, row.size() - 2), [](unsigned char c) {
    return c < 0x20 || c == 0x7f;
  })) << row;
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
