// A place with a secret beside it, and the file tools at work on it.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tool/file_work.h"
#include "tool/tree_fixture.h"

namespace sallyport {

class FilePlaceTest : public testing::Test {
 protected:
  explicit FilePlaceTest(
      const std::filesystem::path& directory = std::filesystem::temp_directory_path())
      : tree(directory) {
    tree.write("secret", "SECRET\n");
    tree.write("data/a.txt", "one\ntwo\nthree\n");
    tree.write("data-secret/x", "SECRET\n");
    use("data", "");
  }

  void use(const std::string& place, const std::string& names) {
    order.places.clear();
    add(place, names);
  }
  void add(const std::string& place, const std::string& names) {
    order.places.push_back({.inside = tree / place, .names = names, .host = {}});
  }

  Result<json::object> read(const std::string& path) {
    order.path = path;
    return do_file_work(FileAction::read, order);
  }
  Result<json::object> write(const std::string& path, const std::string& content) {
    order.path = path;
    order.content = content;
    return do_file_work(FileAction::write, order);
  }
  Result<json::object> edit(const std::string& path, const std::string& old_text,
                            const std::string& new_text) {
    order.path = path;
    order.old_text = old_text;
    order.new_text = new_text;
    return do_file_work(FileAction::edit, order);
  }
  Result<json::object> list(const std::string& path) {
    order.path = path;
    return do_file_work(FileAction::list, order);
  }
  Result<json::object> search(const std::string& path, const std::string& pattern) {
    order.path = path;
    order.pattern = pattern;
    return do_file_work(FileAction::search, order);
  }
  // "PATH:LINE:COLUMN:TEXT" for each match, the path relative to the tree.
  std::vector<std::string> found(const std::string& path, const std::string& pattern) {
    std::vector<std::string> lines;
    const auto answer = search(path, pattern);
    EXPECT_TRUE(answer) << answer.error().message;
    if (!answer) return lines;
    for (const json::value& match : answer->at("matches").as_array()) {
      const std::string file(match.at("path").as_string());
      lines.push_back(file.substr(tree.path().size() + 1) + ":" +
                      std::to_string(match.at("line").as_int64()) + ":" +
                      std::to_string(match.at("column").as_int64()) + ":" +
                      std::string(match.at("text").as_string()));
    }
    return lines;
  }

  TemporaryTree tree;
  FileOrder order;
};

}  // namespace sallyport
