#!/usr/bin/env bash
# serve.sh SALLYPORT: prepares a policy, a state directory and a first key, and serves.
# SALLYPORT_HOME=DIR chooses where they are kept, SALLYPORT_LISTEN=ADDRESS where it listens.
set -euo pipefail
sallyport=$(realpath "$1")
if [ "$(id -u)" = 0 ]; then home=/var/lib/sallyport; else home=${XDG_STATE_HOME:-$HOME/.local/state}/sallyport-service; fi
home=$(realpath -m "${SALLYPORT_HOME:-$home}")
listen=${SALLYPORT_LISTEN:-127.0.0.1:8640}
mkdir -p "$home"
[ -e "$home/policy.yaml" ] || "$sallyport" policy init >"$home/policy.yaml"
if [ ! -s "$home/key" ]; then
  (umask 077 && "$sallyport" key add agent --policy "$home/policy.yaml" --state "$home/state" >"$home/key")
fi

cat <<END

Policy   $home/policy.yaml   (edit it, then: kill -HUP $$)
State    $home/state
Key      $home/key   (of the caller \`agent\`)

Try, in another terminal:

  curl -H "Authorization: Bearer \$(cat $home/key)" http://$listen/v1/tools/python/call -d '{"arguments": {"code": "print(2 + 2)"}}'

  curl -H "Authorization: Bearer \$(cat $home/key)" http://$listen/execute -d '{"tool_name": "shell", "code": "rm -rf /"}'

  $sallyport audit tail --state $home/state

END
exec "$sallyport" serve --policy "$home/policy.yaml" --state "$home/state" --listen "$listen"
