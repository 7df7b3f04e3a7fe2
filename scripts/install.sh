# Sourced by ./start and ./test: installs missing Debian packages, and says so.
# shellcheck shell=bash

say() { printf '\n\033[1m== %s\033[0m\n' "$*"; }

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

# install_packages NAME…
install_packages() {
  local missing=()
  for name in "$@"; do
    dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null | grep -qx installed || missing+=("$name")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  if ! command -v apt-get >/dev/null; then
    echo "Missing: ${missing[*]}. Sallyport is built on Debian 12 or newer, or Ubuntu 24.04: install these by hand here." >&2
    return 1
  fi
  say "Installing ${#missing[@]} packages: ${missing[*]}"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" \
    >/tmp/sallyport-install.$$ 2>&1 || { cat /tmp/sallyport-install.$$ >&2; rm -f /tmp/sallyport-install.$$; return 1; }
  rm -f /tmp/sallyport-install.$$
}

build_packages=(clang-19 libstdc++-12-dev cmake ninja-build ccache mold libboost1.81-dev libboost-json1.81-dev libre2-dev libhyperscan-dev libfyaml-dev libssl-dev libsqlite3-dev libpg-query-dev)

# The server that tests start for themselves. Debian's package would make and start one of the machine's own.
install_postgres() {
  compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null && return 0
  install_packages postgresql-common
  as_root sed -i 's/^#*create_main_cluster.*/create_main_cluster = false/' /etc/postgresql-common/createcluster.conf
  install_packages postgresql
}

# The sources of tree-sitter and its grammars: fetched once, checked against the hashes of the lock file, none of it run.
fetch_grammars() {
  local lock=third_party/grammars/package-lock.json fetched=third_party/grammars/node_modules/.fetched
  cmp -s "$lock" "$fetched" && return 0
  # A nodejs from elsewhere brings its own npm, and Debian's would not install beside it.
  command -v npm >/dev/null || install_packages nodejs npm
  say "Fetching the grammars of third_party/grammars"
  (cd third_party/grammars && npm ci --ignore-scripts --silent) || return 1
  cp "$lock" "$fetched"
}

# build PRESET TARGET…
build() {
  local preset=$1
  shift
  fetch_grammars
  # A tree that was made with tests keeps them.
  [ -e "build/$preset/CMakeCache.txt" ] || : "${with_tests:=OFF}"
  cmake --preset "$preset" ${with_tests:+"-DSALLYPORT_TESTS=$with_tests"} >/dev/null
  cmake --build --preset "$preset" --target "$@"
}
