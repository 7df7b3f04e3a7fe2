// What the names of JavaScript, of Node.js and of the packages that people use can do.
#include <algorithm>

#include "screen/javascript_reader.h"

namespace sallyport {
namespace {

using enum ScreenKind;
using Match = NameRow::Match;

constexpr NameRow kRows[] = {
    {"child_process", process, Match::below},
    {"child_process.exec", os_command},
    {"cluster", process, Match::below},
    {"worker_threads", process, Match::below},
    {"execa", process, Match::below},
    {"shelljs", os_command, Match::below},
    {"cross-spawn", process, Match::below},
    {"node-pty", process, Match::below},
    {"zx", os_command, Match::below},
    {"process.kill", process},
    {"process.abort", process},
    {"process.reallyExit", process},
    {"Worker", process},
    {"Deno.run", process},
    {"Deno.Command", process},
    {"Deno.kill", process},
    {"Bun.spawn", process},
    {"Bun.$", os_command},
    // fs, with Sync and promises taken off
    {"fs.appendFile", file_write},
    {"fs.writeFile", file_write},
    {"fs.write", file_write},
    {"fs.writev", file_write},
    {"fs.createWriteStream", file_write},
    {"fs.WriteStream", file_write},
    {"fs.mkdtemp", file_write},
    {"fs.copyFile", file_system},
    {"fs.cp", file_system},
    {"fs.chmod", file_system},
    {"fs.chown", file_system},
    {"fs.fchmod", file_system},
    {"fs.fchown", file_system},
    {"fs.lchown", file_system},
    {"fs.link", file_system},
    {"fs.symlink", file_system},
    {"fs.mkdir", file_system},
    {"fs.rename", file_system},
    {"fs.rm", file_system},
    {"fs.rmdir", file_system},
    {"fs.unlink", file_system},
    {"fs.truncate", file_system},
    {"fs.ftruncate", file_system},
    {"fs.utimes", file_system},
    {"fs-extra", file_system, Match::below},
    {"rimraf", file_system, Match::below},
    {"del", file_system, Match::below},
    {"graceful-fs", file_system, Match::below},
    {"Deno.writeTextFile", file_write},
    {"Deno.writeFile", file_write},
    {"Deno.create", file_write},
    {"Deno.remove", file_system},
    {"Deno.rename", file_system},
    {"Deno.mkdir", file_system},
    {"Deno.chmod", file_system},
    {"Deno.connect", ScreenKind::socket},
    {"Deno.listen", ScreenKind::socket},
    {"Deno.serve", http},
    {"Deno.dlopen", native_code},
    {"Bun.write", file_write},
    {"Bun.serve", http},
    {"Bun.dlopen", native_code},
    // the network
    {"net", ScreenKind::socket, Match::below},
    {"net.isIP", ScreenKind::socket, Match::harmless},
    {"net.isIPv4", ScreenKind::socket, Match::harmless},
    {"net.isIPv6", ScreenKind::socket, Match::harmless},
    {"dgram", ScreenKind::socket, Match::below},
    {"tls", ScreenKind::socket, Match::below},
    {"dns", ScreenKind::socket, Match::below},
    {"ssh2", ScreenKind::socket, Match::below},
    {"http", http, Match::below},
    {"http.STATUS_CODES", http, Match::harmless},
    {"http.METHODS", http, Match::harmless},
    {"https", http, Match::below},
    {"http2", http, Match::below},
    {"axios", http, Match::below},
    {"node-fetch", http, Match::below},
    {"undici", http, Match::below},
    {"got", http, Match::below},
    {"request", http, Match::below},
    {"superagent", http, Match::below},
    {"needle", http, Match::below},
    {"ky", http, Match::below},
    {"ws", http, Match::below},
    {"socket.io", http, Match::below},
    {"socket.io-client", http, Match::below},
    {"express", http, Match::below},
    {"fastify", http, Match::below},
    {"puppeteer", http, Match::below},
    {"playwright", http, Match::below},
    {"nodemailer", ScreenKind::socket, Match::below},
    {"follow-redirects", http, Match::below},
    {"cross-fetch", http, Match::below},
    {"isomorphic-fetch", http, Match::below},
    {"bent", http, Match::below},
    {"phin", http, Match::below},
    {"http-proxy", http, Match::below},
    {"mqtt", ScreenKind::socket, Match::below},
    {"amqplib", ScreenKind::socket, Match::below},
    {"pg", ScreenKind::socket, Match::below},
    {"mysql", ScreenKind::socket, Match::below},
    {"mysql2", ScreenKind::socket, Match::below},
    {"redis", ScreenKind::socket, Match::below},
    {"ioredis", ScreenKind::socket, Match::below},
    {"mongodb", ScreenKind::socket, Match::below},
    {"fetch", http},
    {"XMLHttpRequest", http},
    {"WebSocket", http},
    {"EventSource", http},
    {"RTCPeerConnection", ScreenKind::socket},
    {"navigator.sendBeacon", http},
    // code and modules
    {"eval", dynamic_code},
    {"Function", dynamic_code},
    {"execScript", dynamic_code},
    {"vm", dynamic_code, Match::below},
    {"repl", dynamic_code, Match::below},
    {"inspector", reflection, Match::below},
    {"vm2", dynamic_code, Match::below},
    {"importScripts", dynamic_import},
    {"module", dynamic_import, Match::quietly},
    {"module.exports", dynamic_import, Match::harmless},
    {"module.id", dynamic_import, Match::harmless},
    {"module.parent", dynamic_import, Match::harmless},
    {"module.filename", dynamic_import, Match::harmless},
    {"module.builtinModules", dynamic_import, Match::harmless},
    {"require.cache", dynamic_import},
    {"require.extensions", dynamic_import},
    {"process.mainModule", dynamic_import},
    // native code
    {"process.binding", native_code},
    {"process._linkedBinding", native_code},
    {"process.dlopen", native_code},
    {"WebAssembly", native_code, Match::quietly},
    {"ffi-napi", native_code, Match::below},
    {"node-ffi", native_code, Match::below},
    {"ffi", native_code, Match::below},
    {"koffi", native_code, Match::below},
    {"ref-napi", native_code, Match::below},
    {"bindings", native_code, Match::below},
    {"wasi", native_code, Match::below},
    {"bun:ffi", native_code, Match::below},
    // formats that run code
    {"v8.deserialize", deserialisation},
    {"v8.setFlagsFromString", reflection},
    {"node-serialize", deserialisation, Match::below},
    {"serialize-to-js", deserialisation, Match::below},
    {"funcster", deserialisation, Match::below},
    {"cryo", deserialisation, Match::below},
};

// What nobody has to declare.
constexpr std::string_view kGlobals[] = {"eval",
                                         "Function",
                                         "fetch",
                                         "XMLHttpRequest",
                                         "WebSocket",
                                         "EventSource",
                                         "process",
                                         "require",
                                         "module",
                                         "navigator",
                                         "importScripts",
                                         "Worker",
                                         "WebAssembly",
                                         "Deno",
                                         "Bun",
                                         "Reflect",
                                         "Object",
                                         "String",
                                         "Buffer",
                                         "atob",
                                         "setTimeout",
                                         "setInterval",
                                         "setImmediate",
                                         "unescape",
                                         "decodeURIComponent",
                                         "decodeURI",
                                         "Array",
                                         "RTCPeerConnection",
                                         "execScript",
                                         "Symbol"};
constexpr std::string_view kGlobalObjects[] = {"globalThis", "window", "self",
                                               "global",     "top",    "frames"};

template <std::size_t N>
bool among(const std::string_view (&list)[N], std::string_view word) {
  return std::ranges::find(list, word) != std::end(list);
}

}  // namespace

const NameTable& javascript_names() {
  static const NameTable kTable(kRows);
  return kTable;
}

bool is_javascript_global(std::string_view name) {
  return among(kGlobals, name) || among(kGlobalObjects, name);
}

std::string javascript_path(std::string path) {
  if (path.starts_with("node:")) path.erase(0, 5);
  for (const std::string_view object : kGlobalObjects)
    if (path.starts_with(object) && (path.size() == object.size() || path[object.size()] == '.')) {
      if (path.size() == object.size()) return "globalThis";
      return javascript_path(path.substr(object.size() + 1));
    }
  if (path.starts_with("fs/promises")) path.replace(0, 11, "fs");
  if (path.starts_with("dns/promises")) path.replace(0, 12, "dns");
  if (path.starts_with("fs.promises")) path.erase(2, 9);
  if ((path.starts_with("fs.") || path.starts_with("child_process.")) && path.ends_with("Sync"))
    path.resize(path.size() - 4);
  if (path == "process.getBuiltinModule" || path == "module.require" ||
      path == "process.mainModule.require" || path == "module.constructor._load" ||
      path == "module.createRequire()" || path == "module.Module._load" || path == "module._load")
    return "require";
  if (path.ends_with(".default")) path.resize(path.size() - 8);
  for (const std::string_view tail : {".call", ".apply", ".bind()"})
    if (path.ends_with(tail) && path.size() > tail.size()) path.resize(path.size() - tail.size());
  return path;
}

}  // namespace sallyport
