// Pieces of regular expressions that several tables of rules use.
#pragma once

#define HEX(count) "[0-9a-f]{" #count "}"
#define UUID "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
