// Real programs work under the default profile and, but for memory and time, the default limits.
#include "support/cell_runner.h"

namespace sallyport::test {
namespace {

class Programs : public CellTest {
 protected:
  // Runs a shell script in a cell that has room for an interpreter.
  static Ran in_cell(const std::string& script, std::vector<std::string> options = {}) {
    std::vector<std::string> args = {"--timeout", "100s", "--cpu",       "60s",
                                     "--memory",  "1GiB", "--processes", "256"};
    args.insert(args.end(), options.begin(), options.end());
    args.insert(args.end(), {"--", "bash", "-euo", "pipefail", "-c", script});
    return run_cell(GetParam(), args);
  }
};

#define EXPECT_OUTPUT(ran_expression, expected) \
  do {                                          \
    const Ran ran_ = (ran_expression);          \
    EXPECT_EQ(ran_.out, expected) << ran_.err;  \
    EXPECT_EQ(ran_.exit_code, 0) << ran_.err;   \
  } while (false)

// But for SIGXFSZ, so that a write past the file size limit is an error.
TEST_P(Programs, IgnoreNoSignalThatTheCallerIgnores) {
  for (const char* ahead : {"no", "cell"}) {
    std::vector<std::string> argv = {
        "bash", "-c", R"(trap '' USR1 PIPE RTMAX TERM; exec "$@")", "-", sallyport_path(), "run"};
    if (ahead != std::string("no")) argv.insert(argv.end(), {"--ahead", ahead});
    argv.insert(argv.end(), {"--", "grep", "SigIgn", "/proc/self/status"});
    EXPECT_OUTPUT(run(argv, RunOptions{.as = GetParam()}), "SigIgn:\t0000000001000000\n");
  }
}

TEST_P(Programs, PythonComputesWithNumpyAndPandas) {
  EXPECT_OUTPUT(in_cell(R"(/usr/bin/python3 - <<'END'
import numpy, pandas
a = numpy.arange(12).reshape(3, 4)
print((a @ a.T).trace())
frame = pandas.DataFrame({"city": ["a", "b", "a"], "sales": [1, 2, 3]})
frame.to_csv("/workspace/sales.csv", index=False)
print(pandas.read_csv("/workspace/sales.csv").groupby("city").sales.sum().to_dict())
END
)"),
                "506\n{'a': 4, 'b': 2}\n");
}

TEST_P(Programs, PythonStartsProcessesAndThreads) {
  EXPECT_OUTPUT(in_cell(R"(cat >work.py <<'END'
import multiprocessing, subprocess, threading, tempfile, socket
def square(n): return n * n
if __name__ == "__main__":
    with multiprocessing.Pool(4) as pool: print(sum(pool.map(square, range(10))))
    print(subprocess.run(["echo", "child"], capture_output=True, text=True).stdout.strip())
    seen = []
    threads = [threading.Thread(target=seen.append, args=(i,)) for i in range(8)]
    [t.start() for t in threads]; [t.join() for t in threads]
    print(len(seen))
    server = socket.create_server(("127.0.0.1", 0))
    client = socket.create_connection(server.getsockname())
    server.accept()[0].sendall(b"loopback"); print(client.recv(99).decode())
    with tempfile.NamedTemporaryFile() as f: f.write(b"x")
END
/usr/bin/python3 work.py)"),
                "285\nchild\n8\nloopback\n");
}

TEST_P(Programs, NodeFetchesFromItselfAndRunsWorkerThreads) {
  EXPECT_OUTPUT(in_cell(R"(cat >main.js <<'END'
const http = require('http'), { Worker } = require('worker_threads');
const server = http.createServer((request, response) => response.end('served'));
server.listen(0, '127.0.0.1', async () => {
  const answer = await fetch(`http://127.0.0.1:${server.address().port}/`);
  console.log(await answer.text());
  server.close();
  const worker = new Worker(`require('worker_threads').parentPort.postMessage(6 * 7)`, { eval: true });
  worker.on('message', (message) => console.log(message));
  worker.on('exit', () => require('child_process').execFile('echo', ['child'], (e, out) => console.log(out.trim())));
});
END
node main.js)"),
                "served\n42\nchild\n");
}

TEST_P(Programs, BashPipelinesJobsAndProcessSubstitutionWork) {
  EXPECT_OUTPUT(in_cell(R"(seq 1000 | grep 7 | sort -rn | head -2
sleep 0.01 & wait $!
paste -sd+ <(seq 3) | sed 's/$/=6/'
tar -cf - /etc/passwd 2>/dev/null | tar -tf -
find /usr/share -maxdepth 1 -name doc | xargs -n1 basename
date +%Y >/dev/null)"),
                "997\n987\n1+2+3=6\netc/passwd\ndoc\n");
}

TEST_P(Programs, GitCommitsBranchesAndMerges) {
  EXPECT_OUTPUT(in_cell(R"(git init -q -b main repo && cd repo
git config user.name agent && git config user.email agent@localhost
echo one >file && git add file && git commit -qm one
git checkout -qb side && echo two >other && git add other && git commit -qm two
git checkout -q main && echo three >third && git add third && git commit -qm three
git merge -q --no-edit side && git log --oneline | wc -l
git clone -q . ../copy && ls ../copy)"),
                "4\nfile\nother\nthird\n");
}

TEST_P(Programs, GccAndGxxCompileAndTheResultRuns) {
  EXPECT_OUTPUT(in_cell(R"(printf '#include <stdio.h>\nint main(void) { puts("from C"); }\n' >a.c
printf '#include <iostream>\n#include <thread>\nint main() { std::thread([] { std::cout << "from C++\\n"; }).join(); }\n' >b.cpp
gcc -O1 a.c -o a && ./a
g++ -O1 -pthread b.cpp -o b && ./b)",
                        {"--file-size", "50MB"}),
                "from C\nfrom C++\n");
}

TEST_P(Programs, PerlForksAndMatches) {
  EXPECT_OUTPUT(
      in_cell(
          R"(perl -MPOSIX -e 'my $p = fork; exit 3 unless $p; waitpid($p, 0); print $? >> 8, "\n"; print join(",", "a1b22" =~ /\d+/g), "\n"')"),
      "3\n1,22\n");
}

SALLYPORT_FOR_ROOT_AND_USER(Programs);

}  // namespace
}  // namespace sallyport::test
