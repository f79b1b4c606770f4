#!/usr/bin/env bash
# Nightly copy of a data folder, with a journal.

set -euo pipefail

source ./lib/log.sh
source "${BASH_SOURCE%/*}/lib/lock.sh"
. /etc/default/vault
. "$HOME/.vaultrc"
source lib/colours.sh

readonly VAULT_VERSION="1.4.0"
export VAULT_ROOT=/srv/vault VAULT_MODE=nightly
declare -A targets=([db]=/var/lib/db [mail]=/var/mail)
declare -r KEEP_DAYS=14
retries=3
if [[ -t 1 ]]; then
  colour=always
fi

# Prints how the script is called.
usage() {
  cat <<TEXT
usage: ${0##*/} [target...]
not_a_function() { this is text; }
TEXT
}

# Copies one target.
# Returns 1 when the lock is taken.
copy_target() {
  local name="$1" from=${targets[$1]}
  lock::take "$name" || return 1
  log::info "copying $name" | tee -a "$VAULT_ROOT/journal"
  rsync --archive "$from/" "$VAULT_ROOT/$name/" && prune "$name"
  lock::release "$name"
}

function prune {
  local -r folder="$VAULT_ROOT/$1"
  find "$folder" -mtime "+${KEEP_DAYS}" -print0 | xargs -0 rm --
}

function lock::take() (
  attempt() { mkdir "$VAULT_ROOT/.lock-$1"; }
  for _ in $(seq "$retries"); do
    attempt "$1" && exit 0
  done
  exit 1
)

lock::release() { rmdir "$VAULT_ROOT/.lock-$1"; }

with-größe() {
  du --summarize "$(realpath "$1")"
}

main() {
  (( $# )) || { usage >&2; exit 64; }
  trap 'log::info stopped' EXIT
  for name in "$@"; do
    copy_target "$name"
  done
  with-größe "$VAULT_ROOT"
}

export -f usage
main "$@"
