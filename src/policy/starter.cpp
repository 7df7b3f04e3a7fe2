#include "policy/starter.h"

#include "base/json.h"

namespace sallyport {
namespace {

constexpr std::string_view kBegin =
    R"yaml(# A policy for Sallyport: who may call which tool, what a tool may touch, and what it may spend.
# What is not written here is denied. Check it, see what it means, and try it:
#
#   sallyport policy check policy.yaml
#   sallyport policy explain python --policy policy.yaml --as agent
#   sallyport policy test policy.yaml
#   sallyport call python --policy policy.yaml --as agent code='print(6 * 7)'
version: 1

roles:                        # permissions by role; the words are yours, `admin` implies all of them
  reader: [read:files]
  worker: [read:files, write:files, execute:code]
  # operator: [read:metrics, read:audit]
  # administrator: [admin]

callers:                      # who may call
  agent: { role: worker, rate: [30/min, 500/h] }
  guest: { role: reader, rate: 10/min }
  # For those who run the service: `ops` reads metrics and the audit log, `admin` may do everything.
  # ops: { role: operator }
  # admin: { role: administrator }

# Whoever is refused ten times in five minutes is refused everything for a quarter of an hour. By
# address too (`by: [caller, address]`) where callers do not share one.
lockout: { after: 10 denials, within: 5min, for: 15min, by: [caller] }

defaults:                     # what a tool has that says nothing
  rate: 60/min                # all callers together
  limits: { timeout: 10s, cpu: 10s, memory: 256MiB, processes: 64, max_output: 10kB }
  network: none
  output: { redact: [secrets, home_dirs, ip_addresses, temp_dirs] }   # taken out of every result

ceiling:                      # what nothing below may exceed
  limits: { timeout: 5min, memory: 2GiB, processes: 256 }
  files: { deny: [/etc/shadow, /etc/ssl/private, /root, "/**/.ssh/**", "/**/.aws/**"] }

tools:
  python:
    use: run_python
    description: Run a short Python program. It has no network, and its files are gone afterwards.
    needs: [execute:code]
    warm: true                      # an interpreter that has started already waits for the call
    limits: { timeout: 30s, cpu: 20s }
    screen: { "*": block, file_write: none }   # looked at before it runs; the cell holds without it
    collect: ["*.csv", "*.png"]     # files that it leaves in its working directory and that come back

  shell:                            # one command without a shell: no pipes, no redirection
    use: run_command
    description: Run one of a few commands.
    needs: [execute:code]
    commands: [ls, cat, head, tail, wc, grep, sort, uniq, date, uname]
    files: { read: [)yaml";

constexpr std::string_view kReadTools = R"yaml(] }

  read_file:
    use: read_file
    description: Read a file below /data.
    needs: [read:files]
    files: { read: [)yaml";

constexpr std::string_view kListTool = R"yaml(] }

  list_files:
    use: list_files
    description: List a directory below /data.
    needs: [read:files]
    files: { read: [)yaml";

constexpr std::string_view kWriteTool = R"yaml(] }

  write_file:
    use: write_file
    description: Write a file below /data.
    needs: [write:files]
    files: { write: [)yaml";

constexpr std::string_view kNoWriteTool = R"yaml(] }

  # Give it a directory of its own, and never one that holds this policy:
  #
  # write_file:
  #   use: write_file
  #   needs: [write:files]
  #   files: { write: [/srv/agent:/data] }      # HOST:INSIDE; a glob such as /srv/agent/*.md narrows it
)yaml";

constexpr std::string_view kEnd = R"yaml(
  # A program of your own, as an argv and never a shell string. An argument is one whole element:
  #
  # list_orders:
  #   run: [/usr/local/bin/list-orders, --limit, "{limit}"]
  #   needs: [read:files]
  #   args:
  #     limit: { type: integer, minimum: 1, maximum: 500, default: 50 }
  #   result: json                # what it prints is parsed, checked and returned as data
  #
  # Calls of tools that use these are refused as `unavailable` until a release brings them:
  #
  #   network: { allow: [api.example.com] }
  #   approval: { by: [worker], count: 1, expires: 15min }

tests:                        # decisions that must stay as they are: sallyport policy test
  - { as: agent, call: python, args: { code: "print(1)" }, expect: allowed }
  - { as: guest, call: python, args: { code: "print(1)" }, expect: blocked, reason: permission }
  - { as: agent, call: python, args: { code: "import os; os.system('id')" }, expect: blocked, reason: screen }
  - { as: agent, call: shell, args: { command: "ls -l /data" }, expect: allowed }
  - { as: agent, call: shell, args: { command: "rm -rf /data" }, expect: blocked, reason: argument }
  - { as: guest, call: read_file, args: { path: /data/README }, expect: allowed }
)yaml";

}  // namespace

std::string starter_policy(std::string_view directory) {
  // It is there on every Debian machine, small, and no secret is in it.
  const std::string host =
      directory.empty() ? "/usr/share/common-licenses" : std::string(directory);
  // A JSON string is a YAML string.
  const std::string grant = directory.empty() ? host + ":/data" : json::serialize(host + ":/data");
  std::string text(kBegin);
  text.append(grant).append(kReadTools).append(grant).append(kListTool).append(grant);
  if (directory.empty())
    text.append(kNoWriteTool);
  else
    text.append(kWriteTool).append(grant).append("] }\n");
  return text.append(kEnd);
}

}  // namespace sallyport
