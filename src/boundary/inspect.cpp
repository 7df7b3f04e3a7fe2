#include "base/text.h"
#include "boundary/arguments.h"
#include "boundary/gates.h"
#include "tool/fetch_call.h"

namespace sallyport {
namespace {

// Files that go into the scratch: their names are the caller's, too.
Pass check_files(const Passage& passage) {
  for (const CallFile& file : passage.request.files)
    if (file.path.empty() || file.path.starts_with('/') || irregular_component(file.path))
      return Block{Reason::argument, "request.files",
                   quoted(file.path) + " cannot be the name of a file in the scratch",
                   "give a relative path without '.' and '..'"};
  return {};
}

}  // namespace

Pass inspect(Passage& passage) {
  const Tool& tool = *passage.tool;
  const bool is_run_command =
      tool.kind == ToolKind::builtin && tool.builtin == Builtin::run_command;
  const ArgumentContext context{.tool = tool.name,
                                .commands = is_run_command ? &tool.commands : nullptr,
                                .files = tool.kind == ToolKind::function ? nullptr : &tool.files,
                                .touch_files = passage.purpose != Passage::Purpose::decide};
  auto checked = check_arguments(tool.args, passage.request.arguments, context);
  // A function that is described in the policy file and by its program has to please both.
  if (checked && passage.function != nullptr && !passage.function->args.empty())
    checked = check_arguments(passage.function->args, *checked, context);
  if (!checked) return Block::from(std::move(checked.error().error), checked.error().rule);
  passage.arguments = std::move(*checked);
  if (Pass refused = check_files(passage)) return refused;
  if (makes_request(tool))
    if (const auto request = make_request(passage.shared.rules.ceiling, tool, passage.arguments);
        !request)
      return Block::from(request.error().error, "tools." + tool.name + "." + request.error().key);
  return screen_code(passage);
}

}  // namespace sallyport
