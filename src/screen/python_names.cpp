// What the names of Python's library, and of the packages that people use, can do.
#include <algorithm>

#include "screen/python_reader.h"

namespace sallyport {
namespace {

using enum ScreenKind;
using Match = NameRow::Match;

constexpr NameRow kRows[] = {
    // processes
    {"subprocess", process, Match::below},
    {"subprocess.PIPE", process, Match::harmless},
    {"subprocess.DEVNULL", process, Match::harmless},
    {"subprocess.STDOUT", process, Match::harmless},
    {"subprocess.CalledProcessError", process, Match::harmless},
    {"subprocess.TimeoutExpired", process, Match::harmless},
    {"subprocess.SubprocessError", process, Match::harmless},
    {"subprocess.CompletedProcess", process, Match::harmless},
    {"subprocess.list2cmdline", process, Match::harmless},
    {"subprocess.getoutput", os_command},
    {"subprocess.getstatusoutput", os_command},
    {"commands", os_command, Match::quietly},
    {"popen2", process, Match::quietly},
    {"multiprocessing", process, Match::below},
    {"multiprocessing.cpu_count", process, Match::harmless},
    {"multiprocessing.current_process", process, Match::harmless},
    {"multiprocessing.dummy", process, Match::harmless},
    {"concurrent.futures.ProcessPoolExecutor", process},
    {"pty", process, Match::below},
    {"pexpect", process, Match::below},
    {"sh", process, Match::quietly},
    {"plumbum", process, Match::below},
    {"invoke", process, Match::quietly},
    {"psutil.Process().kill", process},
    {"psutil.Process().terminate", process},
    {"psutil.Popen", process},
    {"asyncio.create_subprocess_exec", process},
    {"asyncio.create_subprocess_shell", os_command},
    {"asyncio.subprocess.create_subprocess_exec", process},
    {"asyncio.subprocess.create_subprocess_shell", os_command},
    {"os.execl", process},
    {"os.execle", process},
    {"os.execlp", process},
    {"os.execlpe", process},
    {"os.execv", process},
    {"os.execve", process},
    {"os.execvp", process},
    {"os.execvpe", process},
    {"os.spawnl", process},
    {"os.spawnle", process},
    {"os.spawnlp", process},
    {"os.spawnlpe", process},
    {"os.spawnv", process},
    {"os.spawnve", process},
    {"os.spawnvp", process},
    {"os.spawnvpe", process},
    {"os.posix_spawn", process},
    {"os.posix_spawnp", process},
    {"os.fork", process},
    {"os.forkpty", process},
    {"os.kill", process},
    {"os.killpg", process},
    {"os.abort", process},
    {"os.ptrace", process},
    {"signal.pthread_kill", process},
    {"os.system", os_command},
    {"os.popen", os_command},
    {"os.popen2", os_command},
    {"os.popen3", os_command},
    {"os.startfile", os_command},
    {"platform.popen", os_command},
    {"webbrowser", os_command, Match::quietly},
    {"IPython.get_ipython().system", os_command},
    // the file system
    {"os.remove", file_system},
    {"os.unlink", file_system},
    {"os.rmdir", file_system},
    {"os.removedirs", file_system},
    {"os.rename", file_system},
    {"os.renames", file_system},
    {"os.replace", file_system},
    {"os.mkdir", file_system},
    {"os.makedirs", file_system},
    {"os.chmod", file_system},
    {"os.fchmod", file_system},
    {"os.lchmod", file_system},
    {"os.chown", file_system},
    {"os.lchown", file_system},
    {"os.fchown", file_system},
    {"os.link", file_system},
    {"os.symlink", file_system},
    {"os.truncate", file_system},
    {"os.ftruncate", file_system},
    {"os.mkfifo", file_system},
    {"os.mknod", file_system},
    {"os.utime", file_system},
    {"os.chroot", file_system},
    {"os.setxattr", file_system},
    {"os.sendfile", file_write},
    {"os.copy_file_range", file_write},
    {"os.pwrite", file_write},
    {"shutil.rmtree", file_system},
    {"shutil.move", file_system},
    {"shutil.copy", file_system},
    {"shutil.copy2", file_system},
    {"shutil.copyfile", file_system},
    {"shutil.copymode", file_system},
    {"shutil.copystat", file_system},
    {"shutil.copytree", file_system},
    {"shutil.chown", file_system},
    {"shutil.make_archive", file_system},
    {"shutil.unpack_archive", file_system},
    {"distutils.dir_util", file_system, Match::quietly},
    {"distutils.file_util", file_system, Match::quietly},
    {"pathlib.Path().unlink", file_system},
    {"pathlib.Path().rmdir", file_system},
    {"pathlib.Path().mkdir", file_system},
    {"pathlib.Path().rename", file_system},
    {"pathlib.Path().replace", file_system},
    {"pathlib.Path().touch", file_system},
    {"pathlib.Path().chmod", file_system},
    {"pathlib.Path().lchmod", file_system},
    {"pathlib.Path().symlink_to", file_system},
    {"pathlib.Path().hardlink_to", file_system},
    {"pathlib.Path().link_to", file_system},
    {"pathlib.Path.unlink", file_system},
    {"pathlib.Path.rmdir", file_system},
    {"pathlib.Path.mkdir", file_system},
    {"pathlib.Path.rename", file_system},
    {"pathlib.Path.touch", file_system},
    {"zipfile.ZipFile().extractall", file_system},
    {"zipfile.ZipFile().extract", file_system},
    {"tarfile.open().extractall", file_system},
    {"tarfile.open().extract", file_system},
    {"tarfile.TarFile().extractall", file_system},
    // writing
    {"pathlib.Path().write_text", file_write},
    {"pathlib.Path().write_bytes", file_write},
    {"pathlib.Path.write_text", file_write},
    {"pathlib.Path.write_bytes", file_write},
    {"tempfile.mkdtemp", file_write},
    {"tempfile.mkstemp", file_write},
    {"tempfile.TemporaryFile", file_write},
    {"tempfile.TemporaryDirectory", file_write},
    {"tempfile.NamedTemporaryFile", file_write},
    {"tempfile.SpooledTemporaryFile", file_write},
    {"logging.FileHandler", file_write},
    {"logging.handlers.RotatingFileHandler", file_write},
    {"logging.handlers.SocketHandler", socket},
    {"logging.handlers.HTTPHandler", http},
    {"logging.handlers.SMTPHandler", socket},
    {"numpy.save", file_write},
    {"numpy.savez", file_write},
    {"numpy.savez_compressed", file_write},
    {"numpy.savetxt", file_write},
    {"numpy.memmap", file_write},
    {"matplotlib.pyplot.savefig", file_write},
    {"pickle.Pickler", file_write, Match::harmless},
    {"joblib.dump", file_write},
    {"torch.save", file_write},
    // the network
    {"socket", ScreenKind::socket, Match::below},
    {"socket.gethostname", ScreenKind::socket, Match::harmless},
    {"socket.timeout", ScreenKind::socket, Match::harmless},
    {"socket.error", ScreenKind::socket, Match::harmless},
    {"socket.gaierror", ScreenKind::socket, Match::harmless},
    {"socket.inet_aton", ScreenKind::socket, Match::harmless},
    {"socket.inet_ntoa", ScreenKind::socket, Match::harmless},
    {"socket.inet_pton", ScreenKind::socket, Match::harmless},
    {"socket.inet_ntop", ScreenKind::socket, Match::harmless},
    {"socket.htons", ScreenKind::socket, Match::harmless},
    {"socket.ntohs", ScreenKind::socket, Match::harmless},
    {"socket.htonl", ScreenKind::socket, Match::harmless},
    {"socket.ntohl", ScreenKind::socket, Match::harmless},
    {"socket.AF_INET", ScreenKind::socket, Match::harmless},
    {"socket.AF_INET6", ScreenKind::socket, Match::harmless},
    {"socket.AF_UNIX", ScreenKind::socket, Match::harmless},
    {"socket.SOCK_STREAM", ScreenKind::socket, Match::harmless},
    {"socket.SOCK_DGRAM", ScreenKind::socket, Match::harmless},
    {"socket.SOCK_RAW", ScreenKind::socket, Match::harmless},
    {"socket.SOL_SOCKET", ScreenKind::socket, Match::harmless},
    {"socket.SO_REUSEADDR", ScreenKind::socket, Match::harmless},
    {"socketserver", ScreenKind::socket, Match::below},
    {"asyncore", ScreenKind::socket, Match::below},
    {"ssl", ScreenKind::socket, Match::quietly},
    {"ssl.SSLError", ScreenKind::socket, Match::harmless},
    {"ftplib", ScreenKind::socket, Match::below},
    {"smtplib", ScreenKind::socket, Match::below},
    {"smtpd", ScreenKind::socket, Match::below},
    {"poplib", ScreenKind::socket, Match::below},
    {"imaplib", ScreenKind::socket, Match::below},
    {"nntplib", ScreenKind::socket, Match::below},
    {"telnetlib", ScreenKind::socket, Match::below},
    {"paramiko", ScreenKind::socket, Match::below},
    {"fabric", ScreenKind::socket, Match::below},
    {"scapy", ScreenKind::socket, Match::below},
    {"zmq", ScreenKind::socket, Match::below},
    {"dns.resolver", ScreenKind::socket, Match::below},
    {"redis", ScreenKind::socket, Match::below},
    {"psycopg2", ScreenKind::socket, Match::below},
    {"pymysql", ScreenKind::socket, Match::below},
    {"pymongo", ScreenKind::socket, Match::below},
    {"asyncio.open_connection", ScreenKind::socket},
    {"asyncio.open_unix_connection", ScreenKind::socket},
    {"asyncio.start_server", ScreenKind::socket},
    {"asyncio.start_unix_server", ScreenKind::socket},
    {"requests", http, Match::below},
    {"requests.exceptions", http, Match::harmless},
    {"urllib.request", http, Match::below},
    {"urllib.urlopen", http},
    {"urllib.urlretrieve", http},
    {"urllib2", http, Match::below},
    {"urllib3", http, Match::below},
    {"urllib3.exceptions", http, Match::harmless},
    {"http.client", http, Match::below},
    {"http.server", http, Match::below},
    {"httplib", http, Match::below},
    {"httplib2", http, Match::below},
    {"httpx", http, Match::below},
    {"aiohttp", http, Match::below},
    {"pycurl", http, Match::below},
    {"wget", http, Match::below},
    {"websocket", http, Match::below},
    {"websockets", http, Match::below},
    {"xmlrpc.client", http, Match::below},
    {"xmlrpc.server", http, Match::below},
    {"wsgiref.simple_server", http, Match::below},
    {"flask", http, Match::below},
    {"boto3", http, Match::below},
    {"botocore", http, Match::below},
    {"selenium", http, Match::below},
    {"playwright", http, Match::below},
    {"grpc", http, Match::below},
    {"openai", http, Match::below},
    {"pip", process, Match::below},
    {"ensurepip", process, Match::below},
    {"venv", process, Match::below},
    // modules and code by name
    {"builtins.__import__", dynamic_import},
    {"importlib", dynamic_import, Match::quietly},
    {"importlib.metadata", dynamic_import, Match::harmless},
    {"importlib.resources", dynamic_import, Match::harmless},
    {"importlib.abc", dynamic_import, Match::harmless},
    {"imp", dynamic_import, Match::quietly},
    {"pkgutil.find_loader", dynamic_import},
    {"pkgutil.get_loader", dynamic_import},
    {"pkgutil.resolve_name", dynamic_import},
    {"zipimport", dynamic_import, Match::quietly},
    {"pydoc.locate", dynamic_import},
    {"site.addsitedir", dynamic_import},
    {"sys.meta_path", dynamic_import},
    {"sys.path_hooks", dynamic_import},
    {"builtins.eval", dynamic_code},
    {"builtins.exec", dynamic_code},
    {"builtins.execfile", dynamic_code},
    {"builtins.compile", dynamic_code},
    {"builtins.breakpoint", dynamic_code},
    {"code.InteractiveConsole", dynamic_code},
    {"code.InteractiveInterpreter", dynamic_code},
    {"code.interact", dynamic_code},
    {"codeop", dynamic_code, Match::quietly},
    {"runpy", dynamic_code, Match::quietly},
    {"types.CodeType", dynamic_code},
    {"types.FunctionType", dynamic_code},
    {"timeit.timeit", dynamic_code},
    {"timeit.repeat", dynamic_code},
    {"timeit.Timer", dynamic_code},
    {"cProfile.run", dynamic_code},
    {"profile.run", dynamic_code},
    {"pdb", dynamic_code, Match::quietly},
    {"bdb", dynamic_code, Match::quietly},
    {"test.support.script_helper", process, Match::quietly},
    // native code
    {"ctypes", native_code, Match::below},
    {"_ctypes", native_code, Match::below},
    {"cffi", native_code, Match::below},
    {"_cffi_backend", native_code, Match::below},
    {"numpy.ctypeslib", native_code, Match::below},
    {"cppyy", native_code, Match::below},
    {"sys.setdlopenflags", native_code},
    {"_posixsubprocess", process, Match::below},
    {"_posixshmem", native_code, Match::below},
    {"_xxsubinterpreters", dynamic_code, Match::below},
    // formats that run code
    {"pickle.load", deserialisation},
    {"pickle.loads", deserialisation},
    {"pickle.Unpickler", deserialisation},
    {"dill.load", deserialisation},
    {"dill.loads", deserialisation},
    {"cloudpickle.load", deserialisation},
    {"cloudpickle.loads", deserialisation},
    {"jsonpickle.decode", deserialisation},
    {"jsonpickle.loads", deserialisation},
    {"marshal.load", deserialisation},
    {"marshal.loads", deserialisation},
    {"shelve.open", deserialisation},
    {"shelve.DbfilenameShelf", deserialisation},
    {"joblib.load", deserialisation},
    {"pandas.read_pickle", deserialisation},
    {"yaml.unsafe_load", deserialisation},
    {"yaml.unsafe_load_all", deserialisation},
    {"yaml.UnsafeLoader", deserialisation},
    {"yaml.Loader", deserialisation},
    // the interpreter
    {"sys._getframe", reflection},
    {"sys._current_frames", reflection},
    {"sys.settrace", reflection},
    {"sys.setprofile", reflection},
    {"sys.addaudithook", reflection},
    {"inspect.currentframe", reflection},
    {"inspect.stack", reflection},
    {"inspect.getmembers", reflection, Match::harmless},
    {"gc.get_objects", reflection},
    {"gc.get_referrers", reflection},
    {"gc.get_referents", reflection},
    {"threading.settrace", reflection},
};

constexpr std::string_view kReflective[] = {
    "__subclasses__", "__globals__",   "__builtins__",      "__mro__",     "__bases__",
    "__base__",       "__code__",      "__closure__",       "__loader__",  "__getattribute__",
    "f_globals",      "f_locals",      "f_builtins",        "f_back",      "gi_frame",
    "gi_code",        "cr_frame",      "ag_frame",          "tb_frame",    "co_code",
    "func_globals",   "__reduce_ex__", "__init_subclass__", "__set_name__"};

constexpr std::string_view kModules[] = {"os",     "sys",    "subprocess", "socket", "builtins",
                                         "shutil", "ctypes", "importlib",  "pty",    "pickle",
                                         "posix",  "urllib", "marshal"};

// Builtins that screening has to know; any other name that nobody bound is unknown.
constexpr std::string_view kBuiltins[] = {
    "__import__", "eval",  "exec",       "execfile",     "compile",     "open",     "getattr",
    "setattr",    "vars",  "globals",    "locals",       "dir",         "chr",      "ord",
    "str",        "bytes", "bytearray",  "list",         "tuple",       "reversed", "map",
    "filter",     "type",  "breakpoint", "delattr",      "input",       "print",    "sorted",
    "iter",       "next",  "file",       "format",       "repr",        "int",      "zip",
    "enumerate",  "len",   "super",      "staticmethod", "classmethod", "hasattr"};

template <std::size_t N>
bool among(const std::string_view (&list)[N], std::string_view word) {
  return std::ranges::find(list, word) != std::end(list);
}

}  // namespace

const NameTable& python_names() {
  static const NameTable kTable(kRows);
  return kTable;
}

bool is_reflective(std::string_view attribute) {
  return among(kReflective, attribute);
}

bool is_python_builtin(std::string_view name) {
  return among(kBuiltins, name);
}

std::string python_path(std::string path) {
  const auto rename = [&path](std::string_view from, std::string_view to) {
    if (path.starts_with(from) && (path.size() == from.size() || path[from.size()] == '.'))
      path.replace(0, from.size(), to);
  };
  rename("posix", "os");
  rename("nt", "os");
  rename("_socket", "socket");
  rename("_io", "io");
  rename("cPickle", "pickle");
  rename("_pickle", "pickle");
  rename("__builtin__", "builtins");
  rename("__builtins__", "builtins");
  rename("os.posixpath", "os.path");
  rename("pathlib.PosixPath", "pathlib.Path");
  rename("pathlib.PurePath", "pathlib.Path");
  rename("importlib._bootstrap", "importlib");
  // A module that another one imported: random._os.system, shutil.os.system.
  for (std::size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.', dot + 1)) {
    std::string_view part = std::string_view(path).substr(dot + 1);
    part = part.substr(0, part.find('.'));
    std::string_view plain = part;
    while (plain.starts_with('_'))
      plain.remove_prefix(1);
    if (!among(kModules, plain) || path.starts_with("asyncio.")) continue;
    const std::string rest = path.substr(dot + 1 + part.size());
    return python_path(std::string(plain) + rest);
  }
  return path;
}

}  // namespace sallyport
