#include "support/egress_lab.h"

#include <sys/stat.h>

#include <stdexcept>

namespace sallyport::test {
namespace {

// Every address is the lab's own; its name server is its only one.
constexpr const char* kBegin =
    "set -e; ip link set lo up; ip route add local 0.0.0.0/0 dev lo;"
    "ip addr add 2606:2800:220:1::34/128 dev lo nodad; ip -6 route add local ::/0 dev lo;"
    "mount --bind $1/resolv.conf /etc/resolv.conf; mount --bind $1/hosts /etc/hosts;"
    "exec /usr/bin/python3 $1/egress_lab.py $1";

constexpr const char* kTrust[] = {"CURL_CA_BUNDLE", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE",
                                  "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO"};

std::string to_hex(const std::string& bytes) {
  std::string text;
  for (const char c : bytes) {
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", static_cast<unsigned char>(c));
    text += digits;
  }
  return text;
}

std::string to_json(const std::vector<EgressLab::Probe>& probes) {
  boost::json::array list;
  for (const EgressLab::Probe& probe : probes) {
    boost::json::object row{{"label", probe.label}, {"host", probe.host}, {"port", probe.port}};
    if (probe.as.empty()) {
      boost::json::array pieces;
      for (const std::string& piece : probe.send)
        pieces.emplace_back(to_hex(piece));
      row["send"] = std::move(pieces);
    } else {
      row["hello"] = probe.hello;
      row["as"] = probe.as;
    }
    if (!probe.first.empty()) row["first"] = to_hex(probe.first);
    list.push_back(std::move(row));
  }
  return boost::json::serialize(list);
}

EgressLab::Answers read_answers(const std::string& text, std::size_t expected) {
  EgressLab::Answers answers;
  boost::system::error_code wrong;
  const auto value = boost::json::parse(text, wrong);
  if (!wrong && value.is_object())
    for (const auto& [label, answer] : value.as_object())
      answers[label] = {.got = text_of(answer.as_object(), "got"),
                        .error = text_of(answer.as_object(), "error"),
                        .ms = answer.at("ms").as_int64()};
  EXPECT_EQ(answers.size(), expected) << text;
  return answers;
}

}  // namespace

EgressLab::EgressLab() {
  namespace fs = std::filesystem;
  EXPECT_EQ(::chmod(directory_.path().c_str(), 0755), 0);
  fs::create_directory(directory_ / "public");
  fs::create_directory(directory_ / "www");
  const fs::path support = fs::path(SALLYPORT_SOURCE_DIR) / "tests/support";
  fs::copy_file(support / "egress_lab.py", directory_ / "egress_lab.py");
  fs::copy_file(support / "egress_probe.py", directory_ / "public/probe.py");
  write_file(directory_ / "resolv.conf", "nameserver 127.0.0.1\n");
  write_file(directory_ / "hosts", "127.0.0.1 localhost\n");
  process_ = std::make_unique<LiveProcess>(
      std::vector<std::string>{"setpriv", "--pdeathsig=KILL", "unshare", "--net", "--mount", "sh",
                               "-c", kBegin, "sh", directory_.path()});
  // Without it every test would wait for what never comes.
  if (const auto ready = process_->says("ready"); !ready) throw std::runtime_error(ready.message());
}

std::vector<std::string> EgressLab::inside(As as, const std::vector<std::string>& argv) const {
  std::vector<std::string> words = {
      "nsenter", "--target", std::to_string(process_->pid()), "--net", "--mount", "--wd=/", "--"};
  if (as == As::user)
    words.insert(words.end(), {"setpriv", "--reuid", std::to_string(kUserUid), "--regid",
                               std::to_string(kUserGid), "--clear-groups", "--"});
  words.insert(words.end(), argv.begin(), argv.end());
  return words;
}

std::vector<std::string> EgressLab::cell_words(const std::vector<std::string>& args) const {
  std::vector<std::string> words = {sallyport_path(), "run", "--read", directory_ / "public:/lab"};
  for (const char* variable : kTrust)
    words.insert(words.end(), {"--env", std::string(variable) + "=/lab/ca.pem"});
  words.insert(words.end(), args.begin(), args.end());
  return words;
}

Ran EgressLab::outside(const std::vector<std::string>& argv, const std::string& input,
                       As as) const {
  return run(inside(as, argv), {.input = input});
}

Ran EgressLab::cell(As as, const std::vector<std::string>& args, const std::string& input) const {
  return run(inside(as, cell_words(args)), {.input = input});
}

LiveProcess EgressLab::start_cell(As as, const std::vector<std::string>& args) const {
  return LiveProcess(inside(as, cell_words(args)));
}

EgressLab::Probed EgressLab::probe(As as, std::vector<std::string> options,
                                   const std::vector<Probe>& probes) const {
  options.insert(options.end(), {"--json", "--stdin", "--memory", "1GiB", "--timeout", "60s", "--",
                                 "/usr/bin/python3", "/lab/probe.py"});
  const Ran ran = cell(as, options, to_json(probes));
  Probed probed{.answers = {}, .result = ran.json()};
  EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
  probed.answers = read_answers(text_of(probed.result, "output"), probes.size());
  return probed;
}

EgressLab::Answers EgressLab::probe_outside(const std::vector<Probe>& probes) const {
  const Ran ran = outside({"/usr/bin/python3", directory_ / "public/probe.py"}, to_json(probes));
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  return read_answers(ran.out, probes.size());
}

std::vector<std::string> EgressLab::seen() {
  process_->signal(SIGUSR1);
  std::string news;
  EXPECT_TRUE(eventually([&] {
    news = read_file(directory_ / "log").substr(seen_);
    return news.ends_with("\nsync\n") || news == "sync\n";
  })) << news;
  seen_ += news.size();
  std::vector<std::string> lines;
  std::istringstream text(news);
  for (std::string line; std::getline(text, line);)
    if (line != "sync") lines.push_back(line);
  return lines;
}

std::vector<std::string> lines_of(const std::vector<std::string>& seen, const std::string& word) {
  std::vector<std::string> found;
  std::ranges::copy_if(seen, std::back_inserter(found),
                       [&](const std::string& line) { return line.starts_with(word + " "); });
  return found;
}

std::vector<std::string> network_of(const boost::json::object& result) {
  std::vector<std::string> lines;
  const auto* events = result.if_contains("network");
  if (events == nullptr) return lines;
  for (const auto& value : events->as_array()) {
    const boost::json::object& event = value.as_object();
    if (text_of(event, "kind") == "name") continue;
    std::string line = text_of(event, "kind") + " " + text_of(event, "verdict");
    if (!text_of(event, "host").empty()) line += " " + text_of(event, "host");
    if (event.contains("port")) line += ":" + std::to_string(event.at("port").as_int64());
    if (event.contains("address")) line += " at " + text_of(event, "address");
    if (event.contains("why")) line += ": " + text_of(event, "why");
    lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<std::string> names_of(const boost::json::object& result) {
  std::vector<std::string> lines;
  const auto* events = result.if_contains("network");
  if (events == nullptr) return lines;
  for (const auto& value : events->as_array()) {
    const boost::json::object& event = value.as_object();
    if (text_of(event, "kind") == "name")
      lines.push_back(text_of(event, "verdict") + " " + text_of(event, "host"));
  }
  return lines;
}

}  // namespace sallyport::test
