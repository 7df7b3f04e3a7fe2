#include "postgres/known_functions.h"

#include <algorithm>
#include <iterator>

namespace sallyport {
namespace {

// clang-format off
constexpr std::string_view kKnown[] = {
    "abbrev", "abs", "acos", "acosd", "acosh", "age", "any_value", "area", "array_agg",
    "array_append", "array_cat", "array_dims", "array_fill", "array_length", "array_lower",
    "array_ndims", "array_position", "array_positions", "array_prepend", "array_remove",
    "array_replace", "array_to_json", "array_to_string", "array_to_tsvector", "array_upper",
    "ascii", "asin", "asind", "asinh", "atan", "atan2", "atan2d", "atand", "atanh", "avg",
    "bit_and", "bit_count", "bit_length", "bit_or", "bit_xor", "bool", "bool_and", "bool_or", "box",
    "bpchar", "broadcast", "btrim", "bytea", "cardinality", "cbrt", "ceil", "ceiling", "center",
    "char", "char_length", "character_length", "chr", "circle", "clock_timestamp", "concat",
    "concat_ws", "convert_from", "convert_to", "corr", "cos", "cosd", "cosh", "cot", "cotd",
    "count", "covar_pop", "covar_samp", "cume_dist", "date", "date_bin", "date_part", "date_trunc",
    "daterange", "decode", "degrees", "dense_rank", "diameter", "div", "encode", "erf", "erfc",
    "every", "exp", "extract", "factorial", "family", "first_value", "float4", "float8", "floor",
    "format", "gcd", "gen_random_uuid", "generate_series", "generate_subscripts", "get_bit",
    "get_byte", "hashtext", "height", "host", "hostmask", "inet_merge", "inet_same_family",
    "initcap", "int2", "int4", "int4range", "int8", "int8range", "interval", "is_normalized",
    "isclosed", "isempty", "isfinite", "isopen", "json_agg", "json_array_elements",
    "json_array_elements_text", "json_array_length", "json_build_array", "json_build_object",
    "json_each", "json_each_text", "json_extract_path", "json_extract_path_text", "json_object",
    "json_object_agg", "json_object_keys", "json_populate_record", "json_populate_recordset",
    "json_strip_nulls", "json_to_record", "json_to_recordset", "json_typeof", "jsonb_agg",
    "jsonb_array_elements", "jsonb_array_elements_text", "jsonb_array_length", "jsonb_build_array",
    "jsonb_build_object", "jsonb_each", "jsonb_each_text", "jsonb_extract_path",
    "jsonb_extract_path_text", "jsonb_insert", "jsonb_object", "jsonb_object_agg",
    "jsonb_object_keys", "jsonb_path_exists", "jsonb_path_match", "jsonb_path_query",
    "jsonb_path_query_array", "jsonb_path_query_first", "jsonb_populate_record",
    "jsonb_populate_recordset", "jsonb_pretty", "jsonb_set", "jsonb_set_lax", "jsonb_strip_nulls",
    "jsonb_to_record", "jsonb_to_recordset", "jsonb_typeof", "justify_days", "justify_hours",
    "justify_interval", "lag", "last_value", "lcm", "lead", "left", "length", "like_escape", "line",
    "ln", "log", "log10", "lower", "lower_inc", "lower_inf", "lpad", "lseg", "ltrim", "make_date",
    "make_interval", "make_time", "make_timestamp", "make_timestamptz", "masklen", "max", "md5",
    "min", "min_scale", "mod", "mode", "multirange", "netmask", "network", "normalize", "now",
    "npoints", "nth_value", "ntile", "num_nonnulls", "num_nulls", "numeric", "numnode", "numrange",
    "octet_length", "overlaps", "overlay", "parse_ident", "path", "percent_rank", "percentile_cont",
    "percentile_disc", "phraseto_tsquery", "pi", "plainto_tsquery", "point", "polygon",
    "position", "pow", "power", "querytree", "quote_ident", "quote_literal", "quote_nullable",
    "radians", "radius", "random", "range_agg", "range_intersect_agg", "range_merge", "rank",
    "regexp_count", "regexp_instr", "regexp_like", "regexp_match", "regexp_matches",
    "regexp_replace", "regexp_split_to_array", "regexp_split_to_table", "regexp_substr",
    "regr_avgx", "regr_avgy", "regr_count", "regr_intercept", "regr_r2", "regr_slope", "regr_sxx",
    "regr_sxy", "regr_syy", "repeat", "replace", "reverse", "right", "round", "row_number",
    "row_to_json", "rpad", "rtrim", "scale", "set_bit", "set_byte", "set_masklen", "setweight",
    "sha224", "sha256", "sha384", "sha512", "sign", "similar_escape", "similar_to_escape", "sin",
    "sind", "sinh", "slope", "split_part", "sqrt", "starts_with", "statement_timestamp", "stddev",
    "stddev_pop", "stddev_samp", "string_agg", "string_to_array", "string_to_table", "strip",
    "strpos", "substr", "substring", "sum", "tan", "tand", "tanh", "text", "textcat", "time",
    "timeofday", "timestamp", "timestamptz", "timetz", "timezone", "to_ascii", "to_char", "to_date",
    "to_hex", "to_json", "to_jsonb", "to_number", "to_timestamp", "to_tsquery", "to_tsvector",
    "transaction_timestamp", "translate", "trim_array", "trim_scale", "trunc", "ts_delete",
    "ts_filter", "ts_headline", "ts_rank", "ts_rank_cd", "tsquery_phrase", "tsrange", "tstzrange",
    "tsvector_to_array", "unistr", "unnest", "upper", "upper_inc", "upper_inf", "var_pop",
    "var_samp", "varchar", "variance", "websearch_to_tsquery", "width", "width_bucket",
};
constexpr std::string_view kTypes[] = {
    "bit", "bool", "box", "bpchar", "bytea", "char", "cidr", "circle", "date", "datemultirange",
    "daterange", "float4", "float8", "inet", "int2", "int4", "int4multirange", "int4range", "int8",
    "int8multirange", "int8range", "interval", "json", "jsonb", "jsonpath", "line", "lseg",
    "macaddr", "macaddr8", "money", "name", "numeric", "nummultirange", "numrange", "path", "point",
    "polygon", "record", "text", "time", "timestamp", "timestamptz", "timetz", "tsmultirange",
    "tsquery", "tsrange", "tstzmultirange", "tstzrange", "tsvector", "uuid", "varbit", "varchar",
    "xml",
};
// clang-format on
static_assert(std::ranges::is_sorted(kKnown) && std::ranges::is_sorted(kTypes));

}  // namespace

bool is_known_function(std::string_view name) {
  return std::ranges::binary_search(kKnown, name);
}

bool is_known_type(std::string_view name) {
  return std::ranges::binary_search(kTypes, name);
}

}  // namespace sallyport
