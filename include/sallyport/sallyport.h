// Everything that a program needs to put its tools behind Sallyport's gates.
#pragma once

#include "sallyport/boundary.h"
#include "sallyport/call.h"
#include "sallyport/function.h"
#include "sallyport/policy.h"
