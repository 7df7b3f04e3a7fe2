#include "marking/injection.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <memory>
#include <tuple>

#include "base/text.h"

namespace sallyport {
namespace {

struct Phrase {
  std::string_view kind;
  std::string_view pattern;
};

// Over folded text: lower case, one blank between words, line ends kept.
constexpr Phrase kPhrases[] = {
    // Takes back what the model was told.
    {"override",
     R"(\b(?:ignore|disregard|forget|override|bypass|skip|discard) (?:\w+ ){0,3}(?:(?:previous|prior|above|earlier|preceding|former|original|existing|system|all|any|your|the|my) ){1,3}(?:\w+ ){0,2}(?:instructions?|prompts?|rules?|directions?|directives?|guidelines?|constraints?|context|commands?|orders)\b)"},
    {"override",
     R"(\b(?:do not|don't|stop) (?:follow|obey|listen to|comply with)(?:ing)? (?:\w+ ){0,3}(?:instructions?|prompts?|rules?|guidelines?)\b)"},
    {"override",
     R"(\b(?:new|updated|revised|real|actual|important) (?:system )?(?:instructions?|prompt|directives?) ?(?:for (?:the |you|this )?(?:assistant|ai|agent|model|llm)?|:|follow|begin|below))"},
    {"override",
     R"(\b(?:from now on|starting now|henceforth),? (?:you|always|never|ignore|respond|answer|act)\b)"},
    // Gives the model another self.
    {"role",
     R"(\byou are (?:now|no longer|actually|really) (?:a|an|the|in|my|free|bound|dan|developer|root|admin)\b)"},
    {"role",
     R"(\b(?:act|behave|respond|pretend|roleplay) (?:as|like|that|to be)(?: if)?(?: you(?:'re| are| were)?)? (?:a |an |the |my )?(?:\w+ )?(?:unrestricted|unfiltered|jailbroken|uncensored|root|admin(?:istrator)?|developer mode|dan|system)\b)"},
    {"role",
     R"(\b(?:developer|debug|god|jailbreak|dan|admin|maintenance) mode (?:is )?(?:now )?(?:enabled|activated|on|unlocked)\b)"},
    // Speaks in the form of a conversation's own marks.
    {"chat_markup",
     R"(<\|(?:im_start|im_end|system|user|assistant|endoftext|start_header_id|end_header_id|eot_id|begin_of_text)\|>)"},
    {"chat_markup", R"(\[/?inst\]|<</?sys>>|<\|?/?(?:system|assistant)(?:_prompt|_message)?\|?>)"},
    {"chat_markup",
     R"((?m)^ ?(?:#{1,4} ?(?:system|assistant|human|developer)|assistant|human|(?:#{1,4} ?)?(?:system|developer|assistant) (?:prompt|message|instructions?)) ?:)"},
    {"chat_markup",
     R"((?:<|&lt;)/?(?:antml:|function_calls?|tool_call|tool_result|invoke|tool_use|function_results?)\b)"},
    {"chat_markup",
     R"((?:begin|end|start of|end of) (?:system|developer|assistant|admin) (?:prompt|message|instructions?)\b)"},
    // Hides from the person.
    {"secrecy",
     R"(\b(?:do not|don't|never|without) (?:tell|telling|inform|informing|mention|mentioning|reveal|revealing|show|showing|alert|alerting|notify|notifying|disclose|disclosing|ask|asking)(?: (?:this|it|that|anything|any of this|about this))?(?: to)? (?:the )?(?:user|human|operator|person|developer|anyone)\b)"},
    {"secrecy",
     R"(\b(?:keep|this is) (?:this )?(?:a )?(?:secret|hidden|confidential) from (?:the )?(?:user|human|operator)\b)"},
    // Asks for what the model knows or may do.
    {"exfiltration",
     R"(\b(?:reveal|print|repeat|output|show|display|leak|tell me|send|include|write out|summari[sz]e) (?:\w+ ){0,3}(?:system prompt|initial prompt|hidden prompt|your instructions|your prompt|your rules|your guidelines|above instructions)\b)"},
    {"exfiltration",
     R"(\b(?:send|post|upload|forward|exfiltrate|email|transmit|append|leak) (?:\w+ ){0,6}(?:api[ _-]?keys?|passwords?|credentials?|secrets?|tokens?|environment variables?|private keys?|ssh keys?|conversation|chat history|\.env)\b(?:.{0,40}\b(?:to|at|via)\b)?)"},
    {"exfiltration",
     R"(!\[[^\]\n]{0,200}\]\( ?<? ?https?://[^)\s]{0,500}[?&=/#](?:\{|%7b|data|q|query|secret|token|key|d|c|content)\b)"},
    // Calls tools, in words.
    {"tool_use",
     R"(\b(?:you must|you should|please|now|immediately|first|then|next),? (?:immediately |now |also |first )?(?:call|invoke|use|run|execute) (?:the )?(?:\w+ )?(?:tool|function|command|shell|terminal|mcp)\b)"},
    {"tool_use",
     R"(\b(?:run|execute|paste) (?:the )?(?:following|this|these) (?:shell |bash |terminal |python )?(?:commands?|code|script)\b.{0,80}(?:curl|wget|rm |bash|sh |nc |eval|base64|chmod))"},
    // Addresses the reader as what it is.
    {"addressed", R"(\b(?:attention|note|notice|message|instructions?|important)(?: (?:to|for))?:? (?:to |for )?(?:all |any |the )?(?:ai|llm|language model|assistant|agent|chatbot|claude|chatgpt|gpt|gemini|copilot)s?(?: (?:assistants?|agents?|models?|reading|processing|that|which|who))?\b)"},
    {"addressed",
     R"(\bif you are (?:an? )?(?:ai|llm|language model|assistant|agent|chatbot|large language model)\b)"},
    {"addressed",
     R"(\b(?:dear|hey|hello|hi),? (?:ai|llm|assistant|claude|chatgpt|gpt|gemini|copilot|agent)\b)"},
    // Claims a right that output cannot give.
    {"authority",
     R"(\b(?:the )?(?:user|operator|administrator|admin|owner|developer|system) (?:has|have) (?:already |pre-?)?(?:approved|authori[sz]ed|consented|confirmed|granted permission|given permission)\b)"},
};

// Letters of other scripts that look like Latin ones, and the full-width forms.
char latin_of(char32_t code) {
  if (code >= 0xFF01 && code <= 0xFF5E) return static_cast<char>(code - 0xFF01 + '!');
  constexpr std::pair<char32_t, char> kAlike[] = {
      {0x430, 'a'},  {0x435, 'e'}, {0x43E, 'o'}, {0x440, 'p'}, {0x441, 'c'},   {0x443, 'y'},
      {0x445, 'x'},  {0x456, 'i'}, {0x455, 's'}, {0x458, 'j'}, {0x501, 'd'},   {0x410, 'a'},
      {0x412, 'b'},  {0x415, 'e'}, {0x41A, 'k'}, {0x41C, 'm'}, {0x41D, 'h'},   {0x41E, 'o'},
      {0x420, 'p'},  {0x421, 'c'}, {0x422, 't'}, {0x425, 'x'}, {0x406, 'i'},   {0x3BF, 'o'},
      {0x3B1, 'a'},  {0x3B9, 'i'}, {0x3BD, 'v'}, {0x131, 'i'}, {0x2019, '\''}, {0x2018, '\''},
      {0x2013, '-'}, {0x2014, '-'}};
  const auto* const found = std::ranges::find(kAlike, code, &std::pair<char32_t, char>::first);
  return found != std::end(kAlike) ? found->second : '\0';
}

// Characters that nobody sees: they would only break words apart.
bool is_unseen(char32_t code) {
  return code == 0xAD || (code >= 0x200B && code <= 0x200F) || (code >= 0x202A && code <= 0x202E) ||
         (code >= 0x2060 && code <= 0x206F) || code == 0xFEFF || (code >= 0xFE00 && code <= 0xFE0F);
}

struct Folded {
  std::string text;
  std::vector<std::uint32_t> from;  // by byte of it: where that stands in the original
};

Folded fold(std::string_view text) {
  Folded folded;
  folded.text.reserve(text.size());
  folded.from.reserve(text.size());
  const auto put = [&](char c, std::size_t at) {
    folded.text.push_back(c);
    folded.from.push_back(static_cast<std::uint32_t>(at));
  };
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char c = first_utf8_char(text.substr(at));
    const std::size_t begin = at;
    at += c.length;
    // Tag characters spell ASCII that is not shown: a model may read it.
    const char32_t code = c.code >= 0xE0020 && c.code <= 0xE007E ? c.code - 0xE0000 : c.code;
    if (!c.valid || is_unseen(code)) continue;
    if (code == '\n') {
      put('\n', begin);
    } else if (code == ' ' || code == '\t' || code == '\r' || code == 0xA0 || code == 0x3000) {
      if (!folded.text.empty() && folded.text.back() != ' ' && folded.text.back() != '\n')
        put(' ', begin);
    } else if (code < 0x80) {
      const char byte = static_cast<char>(code);
      put(byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte + 32) : byte, begin);
    } else {
      const char latin = latin_of(code);
      const char lower = latin >= 'A' && latin <= 'Z' ? static_cast<char>(latin + 32) : latin;
      put(latin != '\0' ? lower : '?', begin);
    }
  }
  return folded;
}

// A phrase may run over a line end.
std::string joined_lines(std::string_view text) {
  std::string joined(text);
  std::ranges::replace(joined, '\n', ' ');
  return joined;
}

struct Compiled {
  std::string_view kind;
  std::unique_ptr<RE2> pattern;
  bool by_line = false;
};

const std::vector<Compiled>& compiled() {
  static const std::vector<Compiled> all = [] {
    RE2::Options options;
    options.set_log_errors(false);
    options.set_encoding(RE2::Options::EncodingLatin1);
    std::vector<Compiled> list;
    for (const Phrase& phrase : kPhrases)
      list.push_back({phrase.kind,
                      std::make_unique<RE2>(
                          re2::StringPiece(phrase.pattern.data(), phrase.pattern.size()), options),
                      phrase.pattern.starts_with("(?m)")});
    return list;
  }();
  return all;
}

constexpr std::size_t kLongestEvidence = 120;

}  // namespace

std::vector<InjectionSign> find_injections(std::string_view text, std::size_t most) {
  std::vector<InjectionSign> signs;
  const Folded folded = fold(text);
  const std::string joined = joined_lines(folded.text);
  for (const Compiled& each : compiled()) {
    const std::string& where = each.by_line ? folded.text : joined;
    const re2::StringPiece all(where);
    re2::StringPiece found;
    std::size_t at = 0, count = 0;
    while (count < most && at < all.size() &&
           each.pattern->Match(all, at, all.size(), RE2::UNANCHORED, &found, 1)) {
      const auto begin = static_cast<std::size_t>(found.data() - all.data());
      at = begin + std::max<std::size_t>(1, found.size());
      signs.push_back({.kind = std::string(each.kind),
                       .offset = folded.from[begin],
                       .evidence = joined.substr(begin, std::min(found.size(), kLongestEvidence))});
      ++count;
    }
  }
  std::ranges::sort(signs, {},
                    [](const InjectionSign& sign) { return std::tie(sign.offset, sign.kind); });
  if (signs.size() > most) signs.resize(most);
  return signs;
}

}  // namespace sallyport
