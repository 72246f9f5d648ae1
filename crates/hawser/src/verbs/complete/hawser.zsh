#compdef hawser
# Completions of hawser for zsh. The program knows them; paths are left to zsh, which quotes them.
local -a lines names shown
lines=("${(@f)$(command hawser complete -- "${(@Q)words[1,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
local line
for line in "${(@)lines[2,-1]}"; do
	names+=("${line%% *}")
	if [[ $line == *' '?* ]]; then shown+=("${line/ /  -- }"); else shown+=("${line%% *}"); fi
done
local found=1
if (( $#names )); then compadd -V names -l -d shown -a names && found=0; fi
if [[ $lines[1] == paths ]]; then _files && found=0; fi
return found
