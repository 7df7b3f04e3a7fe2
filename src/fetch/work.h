// The fetch tools at work: run by our own program inside the cell, whose network is what the tool's
// rules leave of one. What this program asks for is judged outside, at every hop, by the egress
// process; here are the manners of a client, and sentences that say what happened.
#pragma once

#include <string>

#include "fetch/connection.h"
#include "fetch/order.h"

namespace sallyport {

// What goes to standard output:
//
//   document  one JSON object, never longer than max_answer: url (the last one), status, headers
//             (a few), content_type, text or body or base64, truncated, and redirects [{status,
//             url}] where there were some. `text` is HTML made readable. Any status is an answer.
//   text      the body as it is.
//   json      the body as it is, `null` where there is none.
//
// For the last two, a status that is not of success is an error with the beginning of the body. An
// error is a sentence for a model.
[[nodiscard]] Result<std::string> do_fetch_work(const FetchOrder& order,
                                                const FetchPlaces& places = {});

}  // namespace sallyport
