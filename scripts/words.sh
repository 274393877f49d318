#!/usr/bin/env bash
# Finds words in added lines for which this field has a plainer one: `scripts/words.sh [BASE]`.
#
# Lines added since BASE are looked at, in commits and in the working tree. BASE is by default where this branch left
# origin/main, or the commit before this one. A line where the word is right ends with the comment `words: fine`.
set -euo pipefail
cd "$(dirname "$0")/.."

# WORD=INSTEAD; a word is a regular expression between the borders of a word.
words=(
  "whoever=name who it is: a client, a connection, the caller" # words: fine
  "nobody=none, no one of whom: no client, no validator"       # words: fine
  "somebody=name who it is: a user, another process"           # words: fine
  "dearer=fee bump, replacement"                               # words: fine
  "pictures?=snapshot"                                         # words: fine
  "parted=partitioned"                                         # words: fine
  "dawdle[sd]?=idle, slow"                                     # words: fine
)

if ! git rev-parse --git-dir >/dev/null 2>&1; then
  echo "skipped: no repository to compare with"
  exit 0
fi
base=${1:-}
if [ -z "$base" ]; then
  base=$(git merge-base origin/main HEAD 2>/dev/null || true)
  if [ -z "$base" ] || [ "$base" = "$(git rev-parse HEAD)" ]; then base=HEAD~1; fi
  if ! git rev-parse -q --verify "$base^{commit}" >/dev/null; then
    echo "skipped: no earlier commit to compare with"
    exit 0
  fi
fi

# Lines that only BASE's branch has since the branches diverged do not count.
base=$(git merge-base "$base" HEAD)

# FILE:LINE:TEXT of every added line in files that people read.
added() {
  git diff --no-color --no-ext-diff -U0 "$base" -- \
    '*.rs' '*.md' '*.toml' '*.sh' '*.mjs' '*.js' '*.html' '*.css' '*.yaml' '*.yml' '*.service' justfile \
    | awk '/^\+\+\+ / { file = substr($0, 7); next }
           /^@@ / { split($3, at, ","); line = substr(at[1], 2) - 1; next }
           /^\+/ { print file ":" ++line ":" substr($0, 2) }'
}

lines=$(added | grep -v 'words: fine' || true)
found=0
for entry in "${words[@]}"; do
  if hits=$(grep -iE "^[^:]+:[0-9]+:.*\\b(${entry%%=*})\\b" <<<"$lines"); then
    printf '%s\n  instead of %s: %s\n' "$hits" "${entry%%=*}" "${entry#*=}"
    found=1
  fi
done
if [ "$found" -ne 0 ]; then
  echo "Say it plainly, or end the line with the comment \`words: fine\`."
  exit 1
fi
echo "words: none of ${#words[@]} in the lines added since $(git rev-parse --short "$base")"
