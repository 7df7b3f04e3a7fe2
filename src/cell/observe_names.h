// The name server of an observed cell. It answers every name with an address of its own that leads
// nowhere, so that the program goes on to the port that it wants; outside, nobody is asked. It
// reads one kind of datagram, strictly: everything in it was written by the tool.
#pragma once

#include <cstdint>

#include "base/error.h"
#include "base/fd.h"
#include "egress/name_question.h"

namespace sallyport {

struct Observation;

inline constexpr const char* kNameServerAddress = "127.0.0.1";
inline constexpr std::uint16_t kNameServerPort = 53;

// 198.18.0.1 and up: set aside for measurements (RFC 2544), never the address of anything real.
inline constexpr std::uint32_t kFirstNamedAddress = 0xC612'0001;

// What the files of a cell say that has such a name server.
inline constexpr const char* kNameServerFile =
    "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n";

// Init's side: the socket, made in the cell's own network. Allocates nothing.
Sys<Fd> make_name_server();

// The supervisor's side: notes and answers what waits at the socket, a bounded number of datagrams
// at a time, and never waits itself.
void answer_names(int socket, Observation& notes);

}  // namespace sallyport
