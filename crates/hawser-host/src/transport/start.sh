m="<<hawser";
no() { echo "$m refused $*>>"; exit 1; };
[ "$(uname -m)" = "$3" ] || no machine "$(uname -m)";
[ "$(id -u)" = 0 ] || no user "$(id -un)";
command -v sha256sum >/dev/null || no tool "sha256sum is missing";
umask 022;
d=;
for c in /run/hawser /var/lib/hawser; do
  p="$c/.try-$$";
  mkdir -p -m 700 "$c" && : >"$p" && chmod 700 "$p" && "$p" 2>/dev/null && d="$c";
  rm -f "$p";
  [ -z "$d" ] || break;
done;
[ -n "$d" ] || no directory "neither /run/hawser nor /var/lib/hawser can be written and executed from";
f="$d/hawser-$1";
intact() { [ -f "$1" ] && s="$(sha256sum <"$1")" && [ "${s%% *}" = "$2" ]; };
if intact "$f" "$1"; then
  touch "$f";
else
  echo "$m need>>";
  t="$f.$$";
  head -c "$2" >"$t" && intact "$t" "$1" && chmod 755 "$t" && mv -f "$t" "$f"
  || { s="$(wc -c <"$t") of $2 bytes arrived"; rm -f "$t"; no copy "$s"; };
fi;
exec "$f" agent
