// The file of a SQLite database as a cell shows it: read-only, and perhaps in use by others.
//
// What a reader must not do is read a database without its journal: rows that are committed would
// be missing, or half a transaction would be there. So the state of the files decides how they are
// opened, and what cannot be read rightly is an error.
#pragma once

#include <sys/stat.h>

#include <string>

#include "base/error.h"
#include "base/fd.h"

namespace sallyport {

class DatabaseFile {
 public:
  // An error, for a model and for whoever keeps the database: it is missing, is no database, has a
  // second name (its log could lie beside the other), or has a log that only a writer can read.
  [[nodiscard]] static Result<DatabaseFile> find(const std::string& path);

  // How SQLite is to open it. A database in WAL mode that nobody has open has no files beside it;
  // a reader who may not make any can only take it for immutable.
  [[nodiscard]] const std::string& uri() const { return uri_; }

  // Whether what was read since find() is one state of the database. SQLite's own locks see to it,
  // except when it was taken for immutable: then nobody may have written meanwhile. A cell may also
  // go on showing a log that its owner has removed.
  [[nodiscard]] Result<void> check_unchanged() const;

 private:
  DatabaseFile() = default;

  std::string uri_;
  Fd file_;
  bool immutable_ = false;
  std::string log_;  // the write-ahead log that is read; empty: none
  struct stat before_{};
};

}  // namespace sallyport
