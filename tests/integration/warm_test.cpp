// A script that runs in an interpreter which has started before its call came is not to notice:
// each is run cold as well, and what comes back is compared.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <re2/re2.h>
#include <sys/resource.h>

#include "support/live_service.h"

namespace sallyport::test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kPolicy = R"(
version: 1
roles: {worker: [execute:code]}
callers: {will: {role: worker}}
defaults: {rate: 100000/min, limits: {timeout: 60s, memory: 384MiB}}
tools:
  warm_python:
    use: run_python
    needs: [execute:code]
    warm: true
    collect: ["*.txt"]
    environment: {GREETING: "hello there", EMPTY: ""}
  cold_python:
    use: run_python
    needs: [execute:code]
    collect: ["*.txt"]
    environment: {GREETING: "hello there", EMPTY: ""}
  loaded_python: {use: run_python, needs: [execute:code], warm: true, preload: [random, ssl, tempfile, threading, uuid]}
  warm_node: {use: run_javascript, needs: [execute:code], warm: true, collect: ["*.txt"]}
  cold_node: {use: run_javascript, needs: [execute:code], collect: ["*.txt"]}
)";

// The first line of every script says what it runs in. It begins no line of its own, so that the
// others keep their numbers.
constexpr const char* kSayPython =
    "import os as _o; __name__ == '__main__' and _o.write(1, b'warm\\n' if 'restore' in "
    "_o.readlink('/proc/self/exe') else "
    "b'cold\\n'); del _o; ";
constexpr const char* kSayNode =
    "require('fs').writeSync(1, require('fs').readFileSync('/proc/self/cmdline', "
    "'utf8').includes('rehearsal') ? 'warm\\n' : 'cold\\n'); ";

// An image takes a moment to make; one that cannot be made is tried again after minutes.
constexpr std::chrono::seconds kSoon{20};

struct Answer {
  std::string kind;  // of the cell, if the script came to say it
  std::string status, output, error;
  std::int64_t exit_code = -1;
  std::string artifacts;
};

// Addresses, and how deep a stack was cut, are of one process; whom Node itself was called by is a
// matter of how it was started.
std::string without_chance(std::string text) {
  RE2::GlobalReplace(&text, "    at [^\n]*(node:internal/|\\[eval\\])[^\n]*\n", "");
  RE2::GlobalReplace(&text, "0x[0-9a-f]{6,}", "ADDRESS");
  RE2::GlobalReplace(&text, "repeated [0-9]+ more times", "repeated");
  return text;
}

class Warm : public CellTest {
 protected:
  // One service for all tests of one user.
  static LiveService& service() {
    auto& made = services()[GetParam() == As::root ? 0 : 1];
    if (!made) made = std::make_unique<LiveService>(kPolicy, GetParam());
    return *made;
  }
  static std::string key() {
    static std::string keys[2];
    std::string& made = keys[GetParam() == As::root ? 0 : 1];
    if (made.empty()) made = service().key("will");
    return made;
  }
  static void TearDownTestSuite() {
    for (auto& made : services())
      made.reset();
  }

  static Answer call(const std::string& tool, const std::string& code,
                     const std::string& more = "") {
    const std::string body = R"({"arguments": {"code": )" +
                             boost::json::serialize(boost::json::value(code)) + "}" + more + "}";
    const auto object = service().post("/v1/tools/" + tool + "/call", body, key()).json();
    Answer answer;
    const auto text = [&](const char* name) {
      const auto* value = object.if_contains(name);
      return value != nullptr && value->is_string() ? std::string(value->as_string()) : "";
    };
    answer.status = text("status") + " " + text("reason");
    answer.output = without_chance(text("output"));
    answer.error = without_chance(text("error"));
    if (answer.output.starts_with("warm\n") || answer.output.starts_with("cold\n")) {
      answer.kind = answer.output.substr(0, 4);
      answer.output.erase(0, 5);
    }
    if (const auto* code_of = object.if_contains("exit_code"); code_of && code_of->is_int64())
      answer.exit_code = code_of->as_int64();
    if (const auto* list = object.if_contains("artifacts"))
      answer.artifacts = boost::json::serialize(*list);
    return answer;
  }

  // In a cell of that kind. Until there is an image, and while it is used up, a call may get a cell
  // in which everything is started for it.
  static Answer call_warm(const std::string& tool, const std::string& code,
                          const std::string& more = "", const std::string& say = kSayPython) {
    Answer answer;
    const auto has_image = [&] { return call(tool, say).kind == "warm"; };
    if (never_warm_ || !eventually(has_image, kSoon)) {
      ADD_FAILURE() << tool << " is never warm";
      never_warm_ = true;
      return answer;
    }
    const auto is_answered = [&] {
      answer = call(tool, code, more);
      return answer.kind != "cold";
    };
    EXPECT_TRUE(eventually(is_answered, kSoon));
    return answer;
  }

  static void compare(const std::string& language, const std::string& name,
                      const std::string& script, const std::string& more = "", bool says = true) {
    const char* say = !says ? "" : language == "python" ? kSayPython : kSayNode;
    const std::string code = say + script;
    const Answer cold = call("cold_" + language, code, more);
    const Answer warm =
        call_warm("warm_" + language, code, more, language == "python" ? kSayPython : kSayNode);
    if (says) {
      EXPECT_EQ(warm.kind, "warm") << name;
      EXPECT_EQ(cold.kind, "cold") << name;
    }
    EXPECT_EQ(warm.status, cold.status) << name;
    EXPECT_EQ(warm.exit_code, cold.exit_code) << name;
    EXPECT_EQ(warm.output, cold.output) << name;
    EXPECT_EQ(warm.error, cold.error) << name;
    EXPECT_EQ(warm.artifacts, cold.artifacts) << name;
  }

  static inline bool never_warm_ = false;  // and there is no sense in trying on

 private:
  static std::unique_ptr<LiveService> (&services())[2] {
    static std::unique_ptr<LiveService> made[2];
    return made;
  }
};
SALLYPORT_FOR_ROOT_AND_USER(Warm);

struct Script {
  const char* name;
  const char* code;
};

constexpr Script kPython[] = {
    {"print", "print('hello', 1.5, None)"},
    {"the traceback of an error",
     "\ndef f(n):\n  return 1 // n\ntry:\n  f(0)\nexcept Exception as e:\n  raise "
     "ValueError('outer') "
     "from e\n"},
    {"the traceback through a library", "import json\njson.loads('{')\n"},
    {"a group of errors", "raise ExceptionGroup('g', [ValueError(1), TypeError('x')])"},
    {"too deep a recursion", "\ndef f(): return f()\nf()\n"},
    {"a depth that the stack has",
     "import sys\nsys.setrecursionlimit(100000)\ndef f(n): return 0 if n == 0 else 1 + f(n - 1)\n"
     "print(f(50000))\nx = []\nfor i in range(9000): x = [x]\nprint(len(repr(x)))\n"},
    {"a depth that a thread's stack has",
     "import sys, threading\nsys.setrecursionlimit(10**6); threading.stack_size(64 << 20)\n"
     "def f(n): return 0 if n == 0 else 1 + f(n - 1)\n"
     "t = threading.Thread(target=lambda: print(f(100000))); t.start(); t.join()\n"},
    {"exit 0", "import sys; sys.exit()"},
    {"exit 3", "raise SystemExit(3)"},
    {"exit 300", "raise SystemExit(300)"},
    {"exit -1", "raise SystemExit(-1)"},
    {"exit with a large number", "raise SystemExit(2**70)"},
    {"exit with True", "raise SystemExit(True)"},
    {"exit with a text", "import sys; sys.exit('bye \u00e9')"},
    {"an end by os._exit", "import os; print('lost'); os._exit(9)"},
    {"a hook for errors",
     "import sys\nsys.excepthook = lambda *a: print('hook', a[0].__name__, a[2].tb_lineno)\n1/0\n"},
    {"a hook that fails",
     "import sys\ndef bad(*a): raise RuntimeError('in hook')\nsys.excepthook = bad\n1/0\n"},
    {"what __main__ is",
     "import __main__, sys\nprint(__name__, __file__, __main__ is sys.modules['__main__'], "
     "__main__.__dict__ is globals(), type(__loader__), __spec__, __package__, __doc__, "
     "__annotations__, __cached__, sorted(globals()))\n"},
    {"annotations of the module", "x: int = 3\nprint(__annotations__)"},
    {"arguments and paths",
     "import sys, os\nprint(sys.argv, sys.orig_argv, sys.path, sys.executable, sys.prefix, "
     "sys.flags, "
     "os.getcwd(), sys.warnoptions, sys.getrecursionlimit())\n"},
    {"the environment", "import os; print(sorted(os.environ.items()), os.getenv('GREETING'))"},
    {"the environment of a child",
     "import subprocess; print(sorted(subprocess.run(['env'], capture_output=True, "
     "text=True).stdout.split('\\n')))"},
    {"encodings",
     "import sys, locale\nprint(locale.getpreferredencoding(), [(s.encoding, s.errors, "
     "s.line_buffering) for s in (sys.stdin, sys.stdout, sys.stderr)])\nprint('\\u20ac "
     "\\udc80')\n"},
    {"text that cannot be written", "print('\\ud800')"},
    {"bytes to both streams",
     "import sys\nsys.stdout.buffer.write(b'raw\\n'); print('t', flush=True); print('e', "
     "file=sys.stderr); sys.stdout.write('no newline')\n"},
    {"a closed stdout", "import sys; print('x'); sys.stdout.close()"},
    {"a stdout that cannot be written",
     "import sys; sys.stdout = open('/dev/full', 'w'); print('x')"},
    {"a lost descriptor", "import os; print('lost'); os.close(1)"},
    {"a file that is left open", "f = open('left.txt', 'w'); f.write('content')"},
    {"a file that a function leaves open",
     "\ndef g():\n  h = open('left.txt', 'w'); h.write('a'); yield 1\nk = g(); next(k)\n"},
    {"a generator that is left",
     "\ndef g():\n  try: yield 1\n  finally: print('finally')\nx = g(); next(x)"},
    {"an object with a last word",
     "\nclass A:\n  def __del__(self): print('gone')\na = A(); b = A(); b.own = b\n"},
    {"what is done at the end",
     "import atexit, sys\natexit.register(lambda: print('last'))\n@atexit.register\ndef bad(): "
     "1/0\n"
     "print('first'); sys.exit(4)\n"},
    {"a thread that goes on",
     "import threading, time\ndef f(): time.sleep(0.1); print('thread done')\n"
     "threading.Thread(target=f).start()\nprint('main done')\n"},
    {"a thread that does not",
     "import threading, time\nthreading.Thread(target=lambda: time.sleep(60), "
     "daemon=True).start()\nprint('main done')\n"},
    {"an error in a thread",
     "import threading\ndef g(): 1/0\nt = threading.Thread(target=g, name='T'); t.start(); "
     "t.join(); "
     "print('y')\n"},
    {"threads and locks",
     "import threading\nl = threading.RLock(); n = [0]\ndef f():\n  for i in range(1000):\n    "
     "with l:\n"
     "      with l: n[0] += 1\nts = [threading.Thread(target=f) for i in range(8)]\n"
     "[t.start() for t in ts]; [t.join() for t in ts]; print(n, threading.main_thread().name, "
     "threading.active_count())\n"},
    {"a child by fork",
     "import os, sys\nprint('before', flush=True)\npid = os.fork()\nif pid == 0:\n  "
     "print('child'); "
     "sys.exit(7)\nprint(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n"},
    {"children by fork that end as the script does",
     "import os\nprint('buffered')\npid = os.fork()\nif pid: os.waitpid(pid, 0)\n"},
    {"children by subprocess",
     "import subprocess, sys\nprint(subprocess.run([sys.executable, '-c', 'import sys; "
     "print(sys.argv)', 'x'], capture_output=True, text=True))\nprint(subprocess.run('exit 3', "
     "shell=True))\n"},
    {"pools of processes",
     "import multiprocessing as m\ndef f(x): return x * x\nif __name__ == '__main__':\n  for kind "
     "in "
     "('fork', 'spawn'):\n    with m.get_context(kind).Pool(2) as p: print(p.map(f, [1, 2, 3]))\n"},
    {"asyncio with a child",
     "import asyncio\nasync def main():\n  p = await asyncio.create_subprocess_exec('echo', 'hi', "
     "stdout=asyncio.subprocess.PIPE)\n  print(await p.communicate())\nasyncio.run(main())\n"},
    {"its own source",
     "import inspect\ndef f():\n  return 1  # comment\nclass A:\n  x = "
     "1\nprint(inspect.getsource(f), "
     "inspect.getsource(A), inspect.getfile(f), inspect.getmodule(f))\n"},
    {"a class of __main__ that is pickled",
     "import pickle\nclass A:\n  def __eq__(s, o): return type(s) is type(o)\n"
     "print(pickle.loads(pickle.dumps(A())) == A(), A.__module__, A)\n"},
    {"200 MB", "b = bytearray(b'x') * 200_000_000; print(len(b), b[-1])"},
    {"more than there is",
     "\ntry:\n  b = bytearray(b'x') * 3_000_000_000; print('there is')\nexcept MemoryError: "
     "print('none')\n"},
    {"many small objects",
     "l = [[bytes(1000)] for i in range(30000)]; print(len(l)); l.clear(); print(sum(len(str(i)) "
     "for "
     "i in range(100000)))"},
    {"signals",
     "import os, signal\nprint([(n, signal.getsignal(n)) for n in (1, 2, 13, 15, 25)], "
     "signal.pthread_sigmask(signal.SIG_BLOCK, []))\nprint([l for l in open('/proc/self/status') "
     "if "
     "l.startswith('Sig') and not l.startswith('SigQ')])\nsignal.signal(10, lambda *a: "
     "print('got', "
     "a[0])); os.kill(os.getpid(), 10); signal.raise_signal(10)\nsignal.signal(14, lambda *a: "
     "print('alarm')); signal.alarm(1); signal.pause()\n"},
    {"SIGINT",
     "import os, signal, time\nprint('before', flush=True)\nos.kill(os.getpid(), "
     "signal.SIGINT)\ntime.sleep(5)\n"},
    {"SIGINT that is caught",
     "import os, time\ntry:\n  os.kill(os.getpid(), 2); "
     "time.sleep(5)\nexcept KeyboardInterrupt: print('caught')\n"},
    {"SIGTERM", "import os\nprint('x', flush=True); os.kill(os.getpid(), 15)"},
    {"SIGPIPE",
     "import os\nr, w = os.pipe(); os.close(r)\ntry: os.write(w, b'x')\nexcept "
     "BrokenPipeError as e: print(e)\n"},
    {"abort", "import os; print('x', flush=True); os.abort()"},
    {"a crash", "import ctypes; print('x', flush=True); ctypes.string_at(0)"},
    {"temporary files",
     "import tempfile, os\nwith tempfile.NamedTemporaryFile() as f: print(os.path.dirname(f.name), "
     "len(f.name))\nprint(tempfile.gettempdir())\n"},
    {"time zones",
     "import os, time\nprint(time.tzname, time.localtime(0))\nos.environ['TZ'] = "
     "'Asia/Tokyo'; time.tzset(); print(time.tzname, time.localtime(0))\n"},
    {"warnings",
     "import warnings\nwarnings.warn('careful'); warnings.warn('old', DeprecationWarning)"},
    {"who it is",
     "import os\nprint(os.getpid(), os.getppid(), os.getuid(), os.getgid(), "
     "os.getgroups(), os.getsid(0), os.getpgid(0), os.umask(0o22), "
     "sorted(os.listdir('/proc/self/fd')), open('/proc/self/comm').read())\n"},
    {"its limits",
     "print(open('/proc/self/limits').read(), [l for l in open('/proc/self/status') if "
     "l.split(':')[0] in ('CapEff', 'CapBnd', 'NoNewPrivs', 'Seccomp', "
     "'Seccomp_filters', 'Threads', 'Uid', 'Gid', 'Groups')])\n"},
    {"modules beside it",
     "open('beside.py', 'w').write('x = 7')\nimport beside\nprint(beside.x, "
     "beside.__file__)\n"},
    {"a module that is not there", "import no_such_module"},
    {"libraries of the system",
     "import ssl, hashlib, uuid, secrets, random, sqlite3, decimal, ctypes, zlib\nprint(len(ssl."
     "RAND_bytes(4)), hashlib.sha256(b'x').hexdigest(), uuid.uuid4().version, "
     "sqlite3.connect(':memory:').execute('select 1').fetchall(), decimal.Decimal(1) / 3)\n"},
};

TEST_P(Warm, PythonRunsScriptsAsAColdOneDoes) {
  for (const Script& script : kPython) {
    compare("python", script.name, script.code);
    if (never_warm_) return;
  }
}

TEST_P(Warm, PythonComplainsAboutScriptsAsAColdOneDoes) {
  constexpr Script kWrong[] = {
      {"a mistake", "def f(:\n  pass\n"},
      {"a mistake behind good lines", "x = 1\n  y = 2\n"},
      {"an open bracket", "print('a'\n"},
      {"an open text", "x = '''a\n"},
      {"nothing", ""},
      {"a future", "from __future__ import annotations\nx: no_such = 1\nprint(__annotations__)\n"},
      {"another coding", "# -*- coding: latin-1 -*-\nprint(len('\u00e9'))\n"},
      {"lines of another system", "x = 1\r\nprint(x)\r\n"},
  };
  for (const Script& script : kWrong)
    compare("python", script.name, script.code, "", false);
}

TEST_P(Warm, PythonGetsInputAndFilesAsAColdOneDoes) {
  compare("python", "input", "import sys; print(sys.stdin.read(), sys.stdin.isatty())",
          R"(, "stdin": "line 1\nline 2 \u00e9")");
  compare("python", "input by lines", "print(input()); print(input())\ninput()",
          R"(, "stdin": "line 1\nline 2\n")");
  compare("python", "no input", "import sys; print(repr(sys.stdin.read()))");
  compare("python", "files",
          "import os, helper\nprint(helper.x, open('data/a.csv').read(), sorted(os.listdir('.')), "
          "oct(os.stat('helper.py').st_mode), os.stat('helper.py').st_uid)\n"
          "open('out.txt', 'w').write('result')\n",
          R"(, "files": [{"path": "helper.py", "content": "x = 5"},
                         {"path": "data/a.csv", "content": "1,2"}])");
}

TEST_P(Warm, PythonWithModulesRunsScriptsAsWell) {
  const Answer answer = call_warm(
      "loaded_python", std::string(kSayPython) +
                           "import sys, random, ssl, threading, tempfile, uuid\n"
                           "print(sorted({'random', 'ssl', 'tempfile', 'threading', 'uuid'} & "
                           "set(sys.modules)))\nt = threading.Thread(target=lambda: "
                           "print(threading.current_thread().name)); t.start(); t.join()\n"
                           "print(threading.main_thread() is threading.current_thread(), "
                           "threading.main_thread().native_id == threading.get_native_id())\n");
  EXPECT_EQ(answer.kind, "warm");
  EXPECT_EQ(answer.error, "");
  EXPECT_EQ(answer.output,
            "['random', 'ssl', 'tempfile', 'threading', 'uuid']\nThread-1 (<lambda>)\nTrue True\n");
}

TEST_P(Warm, NodeRunsScriptsAsAColdOneDoes) {
  constexpr Script kNode[] = {
      {"print", "console.log('hello', 1.5, {a: [1]}); console.error('e');"},
      {"an error", "\nfunction f() { null.x }\nf();\n"},
      {"an error that is thrown", "throw new TypeError('x');"},
      {"a promise that is refused", "Promise.reject(new Error('no'));"},
      {"exit 3", "process.exit(3);"},
      {"an exit code", "process.exitCode = 4;"},
      {"at the end", "process.on('exit', (c) => console.log('exit', c));"},
      {"later",
       "setTimeout(() => console.log('later'), 20); setImmediate(() => console.log('soon'));"},
      {"where it is",
       "console.log(__filename, __dirname, process.argv, process.execArgv, "
       "process.cwd(), require.main === module, module.id, module.paths, "
       "typeof exports, this === module.exports);"},
      {"the environment", "console.log(Object.entries(process.env).sort());"},
      {"what is global", "console.log(Object.getOwnPropertyNames(globalThis).sort().join());"},
      {"its own modules",
       "require('fs').writeFileSync('m.js', 'module.exports = 7'); "
       "console.log(require('./m.js'));"},
      {"a child",
       "console.log(require('child_process').execFileSync(process.execPath, ['-p', "
       "'1+1']).toString());"},
      {"files that come back", "require('fs').writeFileSync('out.txt', 'result');"},
      {"a worker",
       "const {Worker} = require('worker_threads'); new Worker('require(\"worker_threads\")"
       ".parentPort.postMessage(5)', {eval: true}).on('message', (m) => console.log(m));"},
      {"await",
       "(async () => { await null; console.log(await import('fs').then((m) => typeof "
       "m.readFile)); })();"},
      {"what crypto is",
       "console.log(crypto.constructor.name, crypto.randomUUID().length, "
       "Object.getOwnPropertyDescriptor(globalThis, 'crypto'));"},
      {"modules that are not there by themselves",
       "console.log(typeof fs, typeof path, typeof os);"},
      {"random numbers",
       "console.log(require('crypto').randomBytes(4).length, Math.random() < 1);"},
  };
  for (const Script& script : kNode)
    compare("node", script.name, script.code);
  compare("node", "a mistake", "let x = ;\n", "", false);
  compare("node", "input", "console.log(require('fs').readFileSync(0, 'utf8'));",
          R"(, "stdin": "line 1\n")");
  compare("node", "input as a stream", "process.stdin.on('data', (d) => console.log(String(d)));",
          R"(, "stdin": "line 1\n")");
  compare("node", "files", "console.log(require('./helper.js').x);",
          R"(, "files": [{"path": "helper.js", "content": "exports.x = 5"}])");
}

// As root the service takes precedence over tools: they cannot keep it from ending them.
TEST_P(Warm, ToolsHaveNoPrecedence) {
  const std::string python = "import os; print(os.nice(0))";
  EXPECT_EQ(call("cold_python", kSayPython + python).output, "0\n");
  EXPECT_EQ(call_warm("warm_python", kSayPython + python).output, "0\n");
  const std::string node = "console.log(require('os').getPriority());";
  EXPECT_EQ(call_warm("warm_node", kSayNode + node, "", kSayNode).output, "0\n");
  for (const char* name : {"sally-front", "sally-launcher"})
    EXPECT_EQ(::getpriority(PRIO_PROCESS, static_cast<id_t>(service().named(name))),
              GetParam() == As::root ? -5 : 0)
        << name;
}

// As an operator reads it.
std::int64_t metric(const LiveService& service, const std::string& name) {
  const std::string page = run({"curl", "-s", "--unix-socket", service.state() + "/operator.sock",
                                "http://localhost/metrics"})
                               .out;
  std::int64_t value = -1;
  RE2::PartialMatch(page, "(?m)^" + name + " ([0-9]+)$", &value);
  return value;
}

TEST_P(Warm, TheFirstCallFindsACellWhereSomeAreKeptReady) {
  LiveService own(R"(
version: 1
roles: {worker: [execute:code]}
callers: {will: {role: worker}}
pool: {min: 1}
tools:
  python: {use: run_python, needs: [execute:code], warm: true}
)",
                  GetParam());
  ASSERT_TRUE(eventually([&] {
    return metric(own, "sallyport_pool_parked") == 1 &&
           metric(own, "sallyport_pool_templates_total") == 1;
  })) << own.log();
  const Reply reply =
      own.call("python", R"json({"code": "import os; print(os.readlink('/proc/self/exe'))"})json",
               own.key("will"));
  EXPECT_THAT(reply.text("output"), HasSubstr("restore"));
  EXPECT_EQ(metric(own, "sallyport_pool_hits_total"), 1);
  EXPECT_EQ(metric(own, "sallyport_pool_misses_total"), 0);
}

}  // namespace
}  // namespace sallyport::test
