// Telling systemd how the service is doing: sd_notify(3), without its library.
#pragma once

#include <string_view>

namespace sallyport {

// Sends "READY=1" and the like to NOTIFY_SOCKET; nothing happens where there is none.
void notify_manager(std::string_view state);

// "RELOADING=1" with the time that Type=notify-reload asks for.
void notify_reloading();

}  // namespace sallyport
