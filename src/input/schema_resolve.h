// Where a `$ref` leads. Keeps the documents that a schema may reach, and within them every place
// that is a schema, with the `$id`s, anchors and dialects that hold there.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "input/schema.h"
#include "input/schema_program.h"

namespace sallyport {

// The vocabularies that are in force, as `$schema` says.
struct SchemaDialect {
  std::string uri;
  bool applicator = true, unevaluated = true, validation = true;
};

// A place within a document that is a schema.
struct SchemaSpot {
  const json::value* value = nullptr;
  ResourceId resource = 0;
  std::string place;  // "#/properties/a", or "uri#/…" outside the main document
};

struct SchemaResource {
  std::string uri;  // the base of the references within
  SchemaDialect dialect;
  std::map<std::string, const json::value*, std::less<>> anchors;
  std::map<std::string, const json::value*, std::less<>> dynamic_anchors;  // also in `anchors`
};

class SchemaResolver {
 public:
  // Checks one schema against the metaschema of a dialect.
  using DialectCheck = Result<void> (*)(const json::value& schema, const std::string& place,
                                        const SchemaDialect& dialect, const SchemaOptions& options,
                                        unsigned nesting);

  // `nesting` counts metaschemas that are being compiled for metaschemas. Without a check, schemas
  // are taken as they are.
  SchemaResolver(const SchemaOptions& options, DialectCheck check, unsigned nesting)
      : options_(options), check_(check), nesting_(nesting) {}

  // The main document. The value must outlive the resolver, as must the documents of the options.
  [[nodiscard]] Result<SchemaSpot> add_main(const json::value& schema);

  // What `reference` names from within `from`; reads further documents as they are named.
  [[nodiscard]] Result<SchemaSpot> find(const SchemaSpot& from, std::string_view reference);

  // The spot of a value that is a known schema.
  [[nodiscard]] const SchemaSpot& spot(const json::value& value) const { return spots_.at(&value); }

  [[nodiscard]] const std::vector<SchemaResource>& resources() const { return resources_; }

 private:
  Result<SchemaSpot> add_document(const json::value& document, std::string_view uri);
  Result<void> add_schema(const json::value& value, ResourceId around, const std::string& place,
                          bool is_root);
  Result<ResourceId> enter_resource(const json::value& value, ResourceId around,
                                    const std::string& place, bool is_root);
  Result<void> add_anchors(const json::value& value, const SchemaSpot& spot);
  Result<SchemaDialect> find_dialect(std::string_view uri, const std::string& place) const;
  Result<SchemaSpot> find_document(const SchemaSpot& from, std::string_view uri);
  Result<SchemaSpot> follow_pointer(const SchemaSpot& from, const SchemaSpot& root,
                                    std::string_view pointer);
  const json::value* given_document(std::string_view uri) const;

  const SchemaOptions& options_;
  DialectCheck check_;
  unsigned nesting_;
  std::vector<SchemaResource> resources_;
  std::unordered_map<const json::value*, SchemaSpot> spots_;
  std::map<std::string, const json::value*, std::less<>> roots_;  // by URI
};

// The error of a schema that is refused at a place.
[[nodiscard]] std::unexpected<Error> refuse_schema(std::string_view place, std::string_view what,
                                                   std::string hint);

}  // namespace sallyport
