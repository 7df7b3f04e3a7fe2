#!/usr/bin/env bash
# Runs clang-tidy over one folder of sources: lint.sh BUILD FOLDER
#
# Nearly all of its time goes into the headers of libraries. So the files of a folder are looked at together, as one
# translation unit; those whose private names clash with others' go into the next one.
set -euo pipefail
build=$1 folder=$2
units=$build/lint/$folder
mkdir -p "$units"

# As the first of its files is compiled, precompiled headers included, without what names that file.
command=$(grep -m1 "\"command\": \".*-c [^\"]*/$folder/[a-z0-9_]*\.cpp\"" "$build/compile_commands.json" |
  sed -e 's/.*"command": "[^ ]* //; s/",*$//; s/ -o .*//; s/\\\(.\)/\1/g')
eval "flags=($command)"  # it is meant for a shell
flags+=(-Wno-everything) # the compiler has warned of each file by itself

unit_of() { # FILE...: prints a unit that includes them
  printf '#include "%s"\n' "$@"
}
clashing() { # UNIT: the sources in which the compiler finds errors
  clang++-19 "${flags[@]}" -fsyntax-only -ferror-limit=0 "$1" 2>&1 |
    sed -n 's/^\([^: ]*\):[0-9]*:[0-9]*: \(fatal \)\{0,1\}error:.*/\1/p' | sort -u || true
}

mapfile -t left < <(find "$PWD/$folder" -maxdepth 1 -name '*.cpp' ! -name '*_test.cpp' | sort)
number=0
while ((${#left[@]})); do
  group=("${left[@]}") rest=()
  unit=$units/$number.cpp
  while unit_of "${group[@]}" >"$unit" && ((${#group[@]} > 1)); do
    bad=$(clashing "$unit")
    [ -n "$bad" ] || break
    mapfile -t good < <(printf '%s\n' "${group[@]}" | grep -vxF "$bad" || true)
    # A clash that shows in no source, or in all of them: one file at a time.
    if ((${#good[@]} == 0 || ${#good[@]} == ${#group[@]})); then good=("${group[0]}"); fi
    mapfile -t -O "${#rest[@]}" rest < <(printf '%s\n' "${group[@]}" | grep -vxF "$(printf '%s\n' "${good[@]}")")
    group=("${good[@]}")
  done
  # Sources are included here alone.
  clang-tidy-19 --quiet --checks=-bugprone-suspicious-include "$unit" -- "${flags[@]}"
  left=("${rest[@]}")
  number=$((number + 1))
done
