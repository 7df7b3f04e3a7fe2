// The name server of an observed cell. It answers every name with an address of its own that leads
// nowhere, so that the program goes on to the port that it wants; outside, nobody is asked. It
// reads one kind of datagram, strictly: everything in it was written by the tool.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/fd.h"

namespace sallyport {

struct Observation;

inline constexpr const char* kNameServerAddress = "127.0.0.1";
inline constexpr std::uint16_t kNameServerPort = 53;

// 198.18.0.1 and up: set aside for measurements (RFC 2544), never the address of anything real.
inline constexpr std::uint32_t kFirstNamedAddress = 0xC612'0001;

// What the files of a cell say that has such a name server.
inline constexpr const char* kNameServerFile =
    "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n";

struct NameQuestion {
  std::string name;  // lower case, without the last dot
  std::uint16_t type = 0;
  std::string_view text;  // the question as it was asked, a part of the datagram
};

// The one question of a standard query; nullopt for everything else. A name is made of letters,
// digits, '-' and '_'.
[[nodiscard]] std::optional<NameQuestion> parse_name_question(std::string_view datagram);

// The answer to a datagram that parse_name_question took: the address to a question for one,
// nothing to all others.
[[nodiscard]] std::string answer_to(std::string_view datagram, const NameQuestion& question,
                                    std::uint32_t address);

// Init's side: the socket, made in the cell's own network. Allocates nothing.
Sys<Fd> make_name_server();

// The supervisor's side: notes and answers what waits at the socket, a bounded number of datagrams
// at a time, and never waits itself.
void answer_names(int socket, Observation& notes);

}  // namespace sallyport
